// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate

// FormatCodexRollout is the format of the files that Codex keeps of its threads.
const FormatCodexRollout Format = "codex_rollout"

// RolloutKind is what a row of a Codex rollout tells.
type RolloutKind uint8

// The kinds of rows. Which payloads of the Record come with them is said behind each.
const (
	RolloutOther      RolloutKind = iota // nothing that another kind tells; may be unknown
	RolloutMeta                          // a thread and where it comes from: Meta
	RolloutContext                       // settings of a turn: Turn, Model
	RolloutTurn                          // a turn begins: Turn
	RolloutTurnEnd                       // a turn ends: Terminal, with an error also Failure
	RolloutTotal                         // running totals of the thread: Total, Last
	RolloutUsage                         // usage of one response: ID, Response.Usage, Total
	RolloutText                          // a message of the agent: Shape, ID, Parts, Response.Blocks
	RolloutThought                       // reasoning, the same; without a block where it is not readable
	RolloutPrompt                        // a message of a person: Shape, Prompt
	RolloutCall                          // a tool call: Calls[0]; Process where it writes to one
	RolloutOutput                        // the output of a call: Results[0]; Process where one runs on
	RolloutItem                          // the end of a call, told with the call: Calls[0], Results[0]
	RolloutActivity                      // a subagent started or ended: Results[0] has its state and the call
	RolloutSearch                        // a web search: Shape, ID, Calls[0]
	RolloutCompaction                    // the conversation was compacted: Shape
	RolloutReview                        // the turn only encloses a review
)

// RolloutShape is in which of the shapes that repeat each other something is told.
type RolloutShape uint8

// The shapes.
const (
	ShapeRow   RolloutShape = iota // a row of its own type, or a response_item
	ShapeEvent                     // an event_msg
	ShapeItem                      // an item_completed
	shapes
)

// RolloutShapes is the number of shapes.
const RolloutShapes = int(shapes)

// Rollout is what a row of a Codex rollout says beside the other payloads of its Record. The rows do not
// name the thread in whose file they stand, tell most things in two or three shapes, and name a response
// only after its items: what follows from a row is the session's to find out.
type Rollout struct {
	Kind    RolloutKind
	Thread  string     // the thread that the row names, "" = the one whose file it is
	Ordinal Opt[int64] // of the row in its thread
	Meta    *Thread
	Turn    string // id of the turn that the row begins or sets
	Model   string
	Shape   RolloutShape
	ID      string   // of the response, message, reasoning or search
	Parts   []uint64 // what its texts are known by within this process
	Total   *Total   // running total of the thread
	Last    *Total   // what the latest response added to it
	Process string   // id of a process that runs on after its call has returned
	CWD     string   // working directory of a subagent's thread. Set by the session
	// Inherited says that the row repeats what another thread did before this one began. Set by the session.
	Inherited bool
	// Begun is when the thread began, Unix nanoseconds. Set by the session with Meta.
	Begun int64
}

// Thread is what a session_meta row says about a thread.
type Thread struct {
	ID       string
	Parents  []string   // a subagent's: the threads that it may belong to, the outermost first
	Subagent bool       // it is a subagent's thread
	Type     string     // type of the subagent, "" when not stated
	Forked   string     // the thread that it was forked from
	Begun    int64      // Unix nanoseconds, 0 when not stated
	Shared   bool       // what it inherited stays in the other thread's file
	First    Opt[int64] // ordinal of the first row that is its own
	Provider string     // as gen_ai.provider.name has it
}
