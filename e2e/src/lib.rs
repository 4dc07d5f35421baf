//! Tests and benchmark against a real kube-apiserver and etcd.
