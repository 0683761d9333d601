// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import "github.com/otelcol-agents/otelcol-agents/translate/jsontok"

// object is the members of one JSON object. Its values alias the line.
type object []jsontok.Member

// maxMembers bounds what is read of an object: Cline's have a dozen members.
const maxMembers = 1 << 10

// read makes o the members of v, none when v is no object.
func (o *object) read(v jsontok.Value) object {
	*o = (*o)[:0]
	for w := v.Object(); w.Next() && len(*o) < maxMembers; {
		*o = append(*o, jsontok.Member{Name: w.Name, Value: w.Value()})
	}
	return *o
}

func (o *object) clear() {
	clear((*o)[:cap(*o)])
	*o = (*o)[:0]
}

// get is the value of a member; of several with the name the last one counts, as in Cline's own reading.
func (o object) get(name string) jsontok.Value {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].Name) == name {
			return o[i].Value
		}
	}
	return nil
}

// text is the first of the members that is a string. One that is empty hides the later ones.
func (o object) text(names ...string) jsontok.Value {
	for _, n := range names {
		if v := o.get(n); v.Kind() == jsontok.String {
			return v
		}
	}
	return nil
}

// is reports whether a member is the given plain string.
func (o object) is(name, want string) bool {
	s, ok := o.get(name).Plain()
	return ok && string(s) == want
}
