// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/lineage"
)

// input is one source before it is opened.
type input struct {
	path    string // "-" for standard input
	root    string // the directory that was given, "" for a file
	size    int64  // 0 when not known
	modTime int64  // Unix nanoseconds, of regular files
	live    bool   // standard input, pipes: read as it comes
	open    func() (io.ReadCloser, error)
}

// findInputs turns the arguments into sources in the order in which they are read: as given, the files
// of a directory by when they began. Problems of all arguments are reported together.
func findInputs(args []string, stdin io.Reader) ([]input, error) {
	var inputs []input
	var errs []error
	seen := map[string]bool{}
	add := func(in input) {
		// The same path twice is one source: each is read once.
		if !seen[in.path] {
			seen[in.path] = true
			inputs = append(inputs, in)
		}
	}
	for _, arg := range args {
		if arg == "-" {
			add(input{path: "-", live: true, open: func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }})
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("read %s: %w", arg, cause(err)))
		case info.IsDir():
			files, err := walk(arg)
			if err != nil {
				errs = append(errs, err)
			}
			for _, in := range files {
				in.root = filepath.Clean(arg)
				add(in)
			}
		default:
			in := fileInput(filepath.Clean(arg), info)
			if err := in.check(); err != nil {
				errs = append(errs, fmt.Errorf("read %s: %w", arg, cause(err)))
				continue
			}
			add(in)
		}
	}
	return inputs, errors.Join(errs...)
}

func fileInput(path string, info fs.FileInfo) input {
	in := input{path: path, open: func() (io.ReadCloser, error) { return os.Open(path) }}
	if info.Mode().IsRegular() {
		in.size, in.modTime = info.Size(), info.ModTime().UnixNano()
	} else {
		in.live = true
	}
	return in
}

// check opens a regular file, so that an unreadable one is known before anything is sent. Opening a
// pipe would take its writer's first bytes.
func (in *input) check() error {
	if in.live {
		return nil
	}
	f, err := in.open()
	if err != nil {
		return err
	}
	return f.Close()
}

// walk finds the *.jsonl files below a directory. Links to directories are not followed, the
// directory itself may be one.
func walk(dir string) ([]input, error) {
	var found []input
	var errs []error
	// The separator at the end makes the walk follow a link that the argument itself is.
	root := strings.TrimRight(dir, string(filepath.Separator)) + string(filepath.Separator)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", path, cause(err)))
			return nil
		}
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".jsonl") {
			return nil
		}
		info, err := os.Stat(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", path, cause(err)))
			return nil
		}
		if info.Mode().IsRegular() {
			found = append(found, fileInput(filepath.Clean(path), info))
		}
		return nil
	})
	errs = append(errs, err)
	if len(found) == 0 && errors.Join(errs...) == nil {
		errs = append(errs, fmt.Errorf("no *.jsonl file in directory %s", dir))
	}
	began := make(map[string]time.Time, len(found))
	for _, in := range found {
		began[in.path] = beginning(in.path)
	}
	slices.SortFunc(found, func(a, b input) int { return lineage.Compare(began[a.path], began[b.path], a.path, b.path) })
	return found, errors.Join(errs...)
}

// beginning is when a file began, the zero time for one that cannot be read: that is told when it is its
// turn.
func beginning(path string) time.Time {
	f, err := os.Open(path)
	if err != nil {
		return time.Time{}
	}
	defer func() { _ = f.Close() }()
	return lineage.Beginning(f)
}

// cause takes the path out of a path error, since the message around it names it already.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
