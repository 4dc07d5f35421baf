package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

// quotaBytes is etcd's limit for its database: the benchmark holds 150,000 pods.
const quotaBytes = 8 << 30

// runEtcd serves etcd on loopback until the process is told to stop.
func runEtcd(args []string) error {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	dataDir := flags.String("data-dir", "", "folder of the database")
	clientPort := flags.Int("client-port", 0, "port for clients")
	peerPort := flags.Int("peer-port", 0, "port for peers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dataDir == "" || *clientPort == 0 || *peerPort == 0 {
		return fmt.Errorf("etcd needs --data-dir, --client-port and --peer-port")
	}
	client := url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", *clientPort)}
	peer := url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", *peerPort)}

	config := embed.NewConfig()
	config.Dir = *dataDir
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "error"
	config.QuotaBackendBytes = quotaBytes
	// A test's data need not survive a power cut, and a build machine's disk is slow.
	config.UnsafeNoFsync = true

	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return fmt.Errorf("etcd stopped: %w", err)
	}
}
