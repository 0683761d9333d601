// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"path/filepath"
	"strings"
)

// projects tells which project the sessions of an input belong to: the folder of its file. What the
// records say of the working directory is content and makes the project only where identity is captured.
type projects struct {
	names map[string]string // by folder
}

const stdinPlace = "-"

// place is the folder that stands for the project of a file. The folders that agents make for
// themselves are no projects: that of a session with its subagents, those of a date.
func place(path string) string {
	if path == "-" {
		return stdinPlace
	}
	dir := filepath.Dir(path)
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for i := 1; i < len(parts); i++ {
		if parts[i] == "subagents" {
			parts = parts[:i-1]
			break
		}
	}
	if n := len(parts); n >= 3 && isNumber(parts[n-1], 2) && isNumber(parts[n-2], 2) && isNumber(parts[n-3], 4) {
		parts = parts[:n-3]
	}
	switch {
	case len(parts) == 0:
		return "."
	case len(parts) == 1 && parts[0] == "":
		return string(filepath.Separator)
	}
	return filepath.FromSlash(strings.Join(parts, "/"))
}

func isNumber(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789") == ""
}

// nameProjects names the folders of the inputs: by the part below what the user gave, else by the folder's
// own name. Where two would have one name, both are named by their path.
func nameProjects(inputs []input) *projects {
	p := &projects{names: map[string]string{}}
	by := map[string][]string{}
	for i := range inputs {
		at := place(inputs[i].path)
		if _, ok := p.names[at]; ok {
			continue
		}
		name := filepath.Base(at)
		if at == stdinPlace {
			name = "standard input"
		} else if inputs[i].root != "" {
			if rel, err := filepath.Rel(inputs[i].root, at); err == nil && rel != "." && !strings.HasPrefix(rel, "..") {
				name = filepath.ToSlash(rel)
			}
		}
		p.names[at] = name
		by[name] = append(by[name], at)
	}
	for _, same := range by {
		for _, at := range same {
			if len(same) > 1 {
				p.names[at] = filepath.ToSlash(at)
			}
		}
	}
	return p
}

// name is how a project is shown.
func (p *projects) name(place, cwd string) string {
	if cwd != "" {
		return cwd
	}
	if p == nil {
		return place
	}
	if name, ok := p.names[place]; ok {
		return name
	}
	return place
}
