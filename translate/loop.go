// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate

// LoopKind is what a record tells of an agent's loop.
type LoopKind uint8

// The kinds of records about an agent's loop. Those up to LoopReturned name their agent.
const (
	LoopOther        LoopKind = iota // nothing that tells whose it is
	LoopStarted                      // an agent began to work, or goes on
	LoopEnded                        // it is done
	LoopFailed                       // it gave up
	LoopAnnounced                    // it is going to run a tool
	LoopReturned                     // its tool has returned
	LoopIteration                    // a request to the model begins
	LoopIterationEnd                 // the answer and its calls are done
	LoopDelta                        // a piece of visible text
	LoopThought                      // a piece of reasoning
	LoopText                         // a whole text
	LoopReasoning                    // a whole piece of reasoning
	LoopUsage                        // the usage of one request
	LoopCall                         // a tool runs
	LoopUpdate                       // it has something to show
	LoopResult                       // it has ended
	LoopError                        // an error of the loop
	LoopDone                         // the run of an agent is over
	LoopMate                         // a teammate joins
	LoopRun                          // a teammate begins a run
	LoopRunEnd                       // and ends it
)

// Loop is what a record says about the loop of an agent, for formats in which most records do not name
// their agent. Whose they are follows from their order and their numbers, which is for the session to
// work out.
type Loop struct {
	Kind       LoopKind
	Agent      string // id of the agent, where the record names it
	Parent     string // id of the agent that launched it
	Name       string // of the teammate whose record it is
	Iteration  int64
	CallID     string
	Launches   bool   // LoopCall: it starts a subagent
	Mate       string // LoopCall: the teammate that it sets to work
	Background bool   // LoopCall: nobody waits for the teammate that it sets to work
	Failed     bool   // LoopRunEnd
	Before     int    // bytes of the text that came before this piece; -1 = not stated
	Bytes      int    // bytes of the piece, or of the whole text
	Own        Tokens
	Sum        Tokens // of the agent's run so far

	// What the session finds out.
	Sure   bool      // the record before named the agent
	Swaps  *AgentRef // the latest response was taken for this agent's, and is the other way round
	Relink string    // the other call, whose subagent was taken for that of this one
}
