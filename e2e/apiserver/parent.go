package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// endWithParent ends this process when its standard input is closed, which happens when the test
// that holds the other end ends, however it ends.
func endWithParent() {
	if os.Getenv("E2E_END_WITH_STDIN") == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}

// runGuarded becomes the given command, which the kernel kills when the thread that started it
// ends. Returns only if that is impossible.
func runGuarded(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("guard needs a command")
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	// The setting belongs to the thread that calls exec.
	runtime.LockOSThread()
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	if errno != 0 {
		return fmt.Errorf("ask to end with the parent: %w", errno)
	}
	return fmt.Errorf("run %s: %w", program, syscall.Exec(program, args, os.Environ()))
}
