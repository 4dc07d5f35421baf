// One binary with everything a control plane on loopback needs:
//
//	etcd --data-dir D --client-port P --peer-port Q   an embedded etcd that does not wait for disks
//	apiserver ...                                     kube-apiserver with its own flags
//	kcm ...                                           kube-controller-manager with its own flags
//	kubectl ...                                       kubectl with its own flags
//	keys D                                            serving certificate and token key into D
//	guard COMMAND ...                                 the command, ended with whoever started it
//
// The tests run each as a process of its own, so that each can be killed and restarted alone.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // CronJobs name time zones

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("a sub-command is missing: etcd, apiserver, kcm, kubectl, keys or guard"))
	}
	name := os.Args[1]
	// The Kubernetes commands read os.Args themselves: hide the sub-command from them.
	os.Args = append([]string{name}, os.Args[2:]...)
	switch name {
	case "etcd":
		endWithParent()
		fail(runEtcd(os.Args[1:]))
	case "keys":
		fail(writeKeys(os.Args[1:]))
	case "guard":
		fail(runGuarded(os.Args[1:]))
	case "apiserver":
		endWithParent()
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kcm":
		endWithParent()
		os.Exit(cli.Run(kcm.NewControllerManagerCommand()))
	case "kubectl":
		kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
	default:
		fail(fmt.Errorf("unknown sub-command %q: use etcd, apiserver, kcm, kubectl, keys or guard", name))
	}
}

// fail ends the process when there is an error to tell, and returns otherwise.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
