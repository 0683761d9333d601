// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package tail

import (
	"errors"
	"io/fs"
	"os"
)

var errNotDir = errors.New("not a directory")

func open(path string) (*os.File, error) { return os.Open(path) }

// identify has only the name to go by, so a renamed file is a new one here.
func identify(path string, _ fs.FileInfo) identity { return identity{path: path} }

func duplicate(*os.File) *os.File { return nil }

func named(fs.FileInfo) bool { return false }
