// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package session assembles what decoders say into spans, log records and metric steps.
//
// An Assembler is a state machine: its inputs are decoded units, ends of sources and, for live
// sources, the clock as a number. The same inputs in the same order give the same outputs. The
// caller opens a Source per file, connection or request, folds its units with Step in their order,
// says End when there are no more, and takes what has become final with Take. What is taken never
// changes afterwards and is never given again.
//
// A session is made of segments; a segment is one trace. It holds agents (the main one and one per
// subagent), their responses and tool calls: the units. A unit is sent when it is final:
//
//	response   another response of its agent, a prompt, a terminal record, its message_stop, close
//	call       its result; an error result waits for the turn's terminal record, which may name it
//	           as denied, unless the result states its outcome; in the background the end of its
//	           task; without a result interruption, the next prompt once it is answered, or close
//	subagent   its launcher's final result, the end of its task in the background, or the state that
//	           another call tells of it; close
//	root       close, or a later segment when nothing of it is open any more
//
// Outputs wait (segment.held) while their ids or times are not known: the key of a later segment is
// the id of its first response, a file without any times gets them when it ends, and a session
// in which no agent acted leaves no trace. Of transcripts, rows of subagents wait for their launcher,
// subagents for rows of their own, and roots for both, until no source has anything unread.
//
// A session may leave memory and be rebuilt from its sources (recall.go). The caller keeps what Changes and
// Learned tell, in one step with what Take gave; it answers Config.Recall with it, folds the sources of a session
// that is to be rebuilt from their beginnings, in the order in which they were read first where it can, and
// says Rebuilt. Sessions that share sources leave and come back together (Group). After Forget it asks for
// Changes before it folds anything more.
package session
