// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a receiver section as a file: what replay uses, and what only a receiver can.
type document struct {
	Config  `yaml:",inline"`
	Files   yaml.Node `yaml:"files"`
	TCP     yaml.Node `yaml:"tcp"`
	HTTP    yaml.Node `yaml:"http"`
	Storage yaml.Node `yaml:"storage"`
}

// Parse reads the body of an agent_stream section over the defaults. Transports and storage are
// accepted and ignored; any other unknown key is an error that names it and its line. The result is
// not validated yet.
func Parse(data []byte) (Config, error) {
	doc := document{Config: NewDefaultConfig()}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF): // an empty file says nothing
		return NewDefaultConfig(), nil
	case err != nil:
		return Config{}, explain(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("one YAML document expected, more found")
	}
	return doc.Config, nil
}

var (
	unknownField = regexp.MustCompile(`^line (\d+): field (.+) not found in type \S+$`)
	wrongType    = regexp.MustCompile(`^line (\d+): cannot unmarshal !!(\w+)(.*) into (\S+)$`)
)

// explain says what is wrong in the words of the configuration instead of Go types.
func explain(err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var p problems
	for _, text := range typed.Errors {
		if m := unknownField.FindStringSubmatch(text); m != nil {
			p.add(fmt.Errorf("line %s: unknown key %q", m[1], m[2]))
			continue
		}
		if m := wrongType.FindStringSubmatch(text); m != nil {
			p.add(fmt.Errorf("line %s: %s expected, got %s%s", m[1], kindOf(m[4]), m[2], m[3]))
			continue
		}
		p.add(errors.New(text))
	}
	return p.join()
}

func kindOf(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "map["), strings.HasPrefix(goType, "options."):
		return "a mapping"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	case goType == "bool":
		return "true or false"
	case goType == "time.Duration":
		return "a duration such as 30s"
	default:
		return "a " + goType
	}
}
