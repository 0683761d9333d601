// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tail

import (
	"io/fs"
	"os"
	"syscall"
)

const errNotDir = syscall.ENOTDIR

// open does not wait for a writer, should a pipe have taken the place of the file.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func identify(path string, info fs.FileInfo) identity {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return identity{device: uint64(s.Dev), inode: s.Ino} //nolint:unconvert // of another type on other systems
	}
	return identity{path: path}
}

// duplicate is another descriptor of an open file, nil if that cannot be.
func duplicate(h *os.File) (again *os.File) {
	conn, err := h.SyscallConn()
	if err != nil {
		return nil
	}
	err = conn.Control(func(fd uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if n, err := syscall.Dup(int(fd)); err == nil {
			syscall.CloseOnExec(n)
			again = os.NewFile(uintptr(n), h.Name())
		}
	})
	if err != nil {
		return nil
	}
	return again
}

// named reports whether an open file still has a name anywhere.
func named(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 0
}
