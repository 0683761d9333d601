// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// system is what the tailer needs of the world: tests count calls, and let them fail.
type system struct {
	now     func() time.Time
	stat    func(path string) (fs.FileInfo, error)
	readDir func(path string) ([]fs.DirEntry, error)
	open    func(path string) (*os.File, error)
	resolve func(path string) (string, error) // through symlinks
}

func realSystem() system {
	return system{now: time.Now, stat: os.Stat, readDir: os.ReadDir, open: open, resolve: filepath.EvalSymlinks}
}

// identity is one file, whatever its names. Path is empty where the system has numbers for files.
type identity struct {
	device, inode uint64
	path          string
}
