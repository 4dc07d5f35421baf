package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// writeKeys writes apiserver.crt and apiserver.key (the certificate of 127.0.0.1 with the authority
// that signed it) and sa.key (signs the tokens of service accounts).
func writeKeys(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("keys needs one folder")
	}
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)}
	names := []string{"localhost", "kubernetes", "kubernetes.default"}
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", loopback, names)
	if err != nil {
		return fmt.Errorf("make the serving certificate: %w", err)
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the token key: %w", err)
	}
	signerPEM, err := keyutil.MarshalPrivateKeyToPEM(signer)
	if err != nil {
		return fmt.Errorf("encode the token key: %w", err)
	}
	files := map[string][]byte{"apiserver.crt": cert, "apiserver.key": key, "sa.key": signerPEM}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(args[0], name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
