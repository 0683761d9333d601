// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsontok reads lines of agent streams: it splits a line into JSON values and walks them lazily.
//
// [Splitter] does all checking, with one reused jsontext decoder; what it hands out is JSON without
// doubt. [Value], [Object] and [Array] walk such JSON without checking it again and without copying:
// a field that nobody asks for costs the search for its end. Handing them unchecked bytes may give
// wrong answers, but never a panic.
package jsontok
