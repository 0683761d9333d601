// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// A listing is trusted while its directory's modification time stands, if that was this old when the
	// directory was read: file systems have clocks as coarse as 2 s, so a younger one may hide a change.
	settled = 2 * time.Second
	// Even so it is read again after this time, for file systems that do not keep that time.
	trusted = 30 * time.Second
	// maxDepth ends a walk through links that no identity shows to be a loop.
	maxDepth = 64
)

// candidate is a name that a pattern matches.
type candidate struct {
	path string
	link bool // what it names may change without its directory changing
}

// walker finds the names that the patterns match. It keeps what it read of directories, so that a walk
// over an unchanged tree costs one stat a directory.
type walker struct {
	sys        system
	include    []pattern
	exclude    []string
	unreadable func(path string, err error)

	dirs map[string]*dir
	walk int // number of this walk
	now  time.Time
	seen map[visit]struct{}
	out  []candidate
}

// dir is a directory as it was last read.
type dir struct {
	id      identity
	modTime time.Time
	readAt  time.Time
	entries []fs.DirEntry
	files   map[visit][]candidate // what a pattern's last segment matches
	subs    map[visit][]string    // what a segment before it does
	walk    int                   // last walk that came here
	failed  bool                  // a warning was given
}

// visit is a place in a pattern, with a directory where it matters.
type visit struct {
	path    string
	pattern int
	left    int // segments
}

// candidates walks all patterns. The result holds until the next call.
func (w *walker) candidates(now time.Time) []candidate {
	if w.dirs == nil {
		w.dirs = map[string]*dir{}
	}
	w.walk++
	w.now, w.out = now, w.out[:0]
	for i := range w.include {
		w.seen = map[visit]struct{}{}
		w.descend(w.include[i].base, i, w.include[i].segs, nil)
	}
	for path, d := range w.dirs {
		if d.walk != w.walk {
			delete(w.dirs, path)
		}
	}
	return w.out
}

func (w *walker) descend(path string, number int, segs []string, above []identity) {
	at := visit{pattern: number, left: len(segs)}
	if w.include[number].double {
		here := visit{path, number, len(segs)}
		if _, been := w.seen[here]; been {
			return
		}
		w.seen[here] = struct{}{}
	}
	seg, rest := segs[0], segs[1:]
	if literal(seg) { // no need to be allowed to list the directory
		child := filepath.Join(path, seg)
		switch {
		case len(rest) > 0:
			w.descend(child, number, rest, above)
		case w.wanted(child, number):
			w.out = append(w.out, candidate{child, true})
		}
		return
	}
	d := w.list(path)
	if d == nil || len(above) > maxDepth || slices.Contains(above, d.id) {
		return
	}
	above = append(above, d.id)
	if len(rest) == 0 {
		files, ok := d.files[at]
		if !ok {
			files = w.matchFiles(d, path, seg, number)
			d.files[at] = files
		}
		w.out = append(w.out, files...)
		if seg != "**" {
			return
		}
	}
	if seg == "**" && len(rest) > 0 {
		w.descend(path, number, rest, above[:len(above)-1])
	}
	subs, ok := d.subs[at]
	if !ok {
		for _, e := range d.entries {
			if (e.IsDir() || e.Type()&fs.ModeSymlink != 0) && (seg == "**" || doublestar.MatchUnvalidated(seg, e.Name())) {
				subs = append(subs, filepath.Join(path, e.Name()))
			}
		}
		d.subs[at] = subs
	}
	for _, sub := range subs {
		if seg == "**" {
			w.descend(sub, number, segs, above)
		} else {
			w.descend(sub, number, rest, above)
		}
	}
}

func (w *walker) matchFiles(d *dir, path, seg string, number int) (files []candidate) {
	for _, e := range d.entries {
		child := filepath.Join(path, e.Name())
		if !e.IsDir() && (seg == "**" || doublestar.MatchUnvalidated(seg, e.Name())) && w.wanted(child, number) {
			files = append(files, candidate{child, e.Type()&fs.ModeSymlink != 0})
		}
	}
	return files
}

func (w *walker) wanted(path string, number int) bool {
	if p := &w.include[number]; p.filter && !doublestar.PathMatchUnvalidated(p.text, path) {
		return false
	}
	return !slices.ContainsFunc(w.exclude, func(x string) bool { return doublestar.PathMatchUnvalidated(x, path) })
}

// list gives a directory, nil if there is none. What cannot be read any more stays as it was.
func (w *walker) list(path string) *dir {
	d := w.dirs[path]
	if d != nil && d.walk == w.walk {
		return d
	}
	info, err := w.sys.stat(path)
	if err == nil && !info.IsDir() {
		return nil
	}
	if err == nil && d != nil && !d.failed && d.modTime.Equal(info.ModTime()) &&
		d.readAt.Sub(d.modTime) > settled && w.now.Sub(d.readAt) < trusted {
		d.walk = w.walk
		return d
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = w.sys.readDir(path)
	}
	switch {
	case absent(err):
		return nil // and forgotten
	case err != nil:
		if d == nil {
			d = &dir{}
			w.dirs[path] = d
		}
		if !d.failed {
			d.failed = true
			w.unreadable(path, err)
		}
		if d.files == nil {
			d.files, d.subs = map[visit][]candidate{}, map[visit][]string{}
		}
	default:
		d = &dir{
			id: identify(path, info), modTime: info.ModTime(), readAt: w.now, entries: entries,
			files: map[visit][]candidate{}, subs: map[visit][]string{},
		}
		w.dirs[path] = d
	}
	d.walk = w.walk
	return d
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) }
