// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsontok reads lines of agent streams: it splits a line into JSON values and walks them lazily.
//
// [Splitter] does all checking; what it hands out is JSON without doubt. What is valid is for a jsontext
// decoder to say. In front of it stands a scanner, which reads most objects several times as fast, says
// exactly the same of them (FuzzScanner) and leaves to the decoder what it is not made for.
//
// [Value], [Object] and [Array] walk such JSON without checking it again and without copying: a field
// that nobody asks for costs the search for its end. An [Index] spares that search, and the measuring of
// long texts, for values of the line that is split. Handing them unchecked bytes may give wrong answers,
// but never a panic.
package jsontok
