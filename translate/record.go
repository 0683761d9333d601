// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate

import "slices"

// Format names a decoder; it is the value of agentstream.format.
type Format string

// The decoders this release has, and Generic for a source that no rule recognises.
const (
	FormatClaudeCode  Format = "claude_code"
	FormatCline       Format = "cline"
	FormatClineLegacy Format = "cline_legacy"
	FormatCodexExec   Format = "codex_exec"
	FormatGeneric     Format = "generic"

	FormatClaudeCodeTranscript Format = "claude_code_transcript"
)

// OfFiles reports whether an agent writes the format into files of its own, beside what it prints.
func (f Format) OfFiles() bool { return f == FormatClaudeCodeTranscript || f == FormatCodexRollout }

// Opt is a value that the input may leave out. The zero Opt is absent, which is not the same as a
// present zero: usage that was not reported is not usage of zero tokens.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some is a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Capture says which kinds of content may leave. The zero Capture lets nothing out.
type Capture struct {
	Prompts       bool // prompts of people and of subagents, descriptions
	Responses     bool // visible assistant text
	Reasoning     bool // readable thinking
	ToolArguments bool // commands, paths, queries, inputs
	ToolResults   bool // texts of tool results
	Raw           bool // whole records that no rule names
	Identity      bool // user, e-mail, working directory, branch
}

// Text is a text of the input: always its size, its content only where Capture allows it.
// Content is valid UTF-8, redacted and cut to the limit before it is stored here.
type Text struct {
	Bytes   int    // size of the original in UTF-8 bytes; 0 for an empty or absent text
	Content string // "" unless captured
	Cut     bool   // Content was truncated
}

// Record is what a decoder says about one JSON object of its input. Most records carry one of the
// payload pointers; a row with several (a user row with a prompt and results) carries each once.
// A record without any payload is known and consumed: it only tells its time and its session.
type Record struct {
	Session string // id that the record names; "" = the source's latest session
	UUID    string // the record's own id; "" when it has none
	Hash    uint64 // of the bytes of a record without an id, to know copies by; the same in every process
	Type    string // top-level type as written
	Subtype string // subtype as written, "" when absent
	Time    int64  // Unix nanoseconds; 0 = the record is not timed
	Arrival int64  // when a live source read it, Unix nanoseconds; 0 = read from a file. Set by the reader, not by decoders
	Agent   AgentRef

	InvalidTime bool // a time stood there but was unreadable or impossible: counted, the record itself counts
	UnknownType bool // no rule knows this type or subtype: counted as unknown_type
	Silent      bool // nothing of it leaves. Set by the assembler, not by decoders

	CWD            string   // working directory, "" when not stated; resolves paths, leaves only under capture identity
	Version        string   // version of the agent program, "" when not stated
	PermissionMode string   // how the agent asks for permission, "" when not stated; it changes within a session
	User           Text     // account or e-mail, for capture identity
	Branch         Text     // version control branch, for capture identity
	MCP            []string // names of MCP servers, longest name first; nil when not stated

	Start      *Start
	Turn       *Turn
	Response   *Response
	Chunk      *Chunk
	Calls      []Call // calls that stand outside of a response's rows
	Failure    *Failure
	Loop       *Loop // in formats that do not name the agent of a record
	Prompt     *Prompt
	Interrupt  bool // a person interrupted the agent
	Results    []Result
	Task       *Task
	Ends       []TaskEnd // ends of background tasks that a notification tells
	Queue      *Queue
	Sidecar    *Sidecar
	Compaction bool
	Retry      *Retry
	Denied     *Denied
	RateLimit  *RateLimit
	Terminal   *Terminal
	Reset      *Reset
	Context    *Context
	Rollout    *Rollout  // what only rows of a Codex rollout tell
	Unknowns   []Unknown // the record itself or blocks of it that no rule maps, in input order
}

// AgentRef says whose record it is. The zero AgentRef is the main agent.
type AgentRef struct {
	Parent string // tool call id of the launching call
	ID     string // the agent's own id (task id), when stated
	Type   string // subagent type, when stated
	// Sidechain says that it is a subagent's, whatever else is stated. One without an id is known by its
	// chain: After is the uuid of the row before, "" for the first row.
	Sidechain bool
	After     string
}

// Main reports whether the record is the main agent's.
func (a AgentRef) Main() bool { return a.Parent == "" && a.ID == "" && !a.Sidechain }

// Start is the record with which an agent program begins a turn or a process (Claude: system/init).
type Start struct {
	Model          string
	Provider       string // as gen_ai.provider.name has it, "" when not stated
	PermissionMode string
}

// Turn tells where processes and turns begin in a format whose rows name neither (Codex exec).
type Turn struct {
	Process bool // a process begins: it numbers its items anew, and its first row begins a turn
	Begin   bool // a turn begins
}

// Total is the running total of a thread. Input includes both kinds of cache, Output includes
// Reasoning. A field that is not OK was not told.
type Total struct {
	Input, CacheRead, CacheWrite, Output, Reasoning Opt[int64]
}

// Usage is token usage of one response in disjoint classes. A field that is not OK was not
// reported; a Usage as a whole is absent when no field is.
type Usage struct {
	Input        Opt[int64] // uncached input
	CacheRead    Opt[int64]
	CacheWrite   Opt[int64] // all cache writes, any lifetime
	CacheWrite5m Opt[int64] // the part with a lifetime of 5 minutes
	CacheWrite1h Opt[int64] // the part with a lifetime of 1 hour
	Output       Opt[int64] // includes reasoning
	Reasoning    Opt[int64]
	WebSearches  Opt[int64]  // billed per request
	Speed        string      // "" or "standard", "fast"
	Iterations   []Iteration // calls to other models inside this response
}

// Iteration is usage of a second model inside one response.
type Iteration struct {
	Type  string // for example advisor_message
	Model string // "" = the response's own model: already in the aggregate
	Usage Usage
}

// Response is one row of a model's response; the rows of one response share ID.
type Response struct {
	ID         string // "" = the row stands for itself
	Model      string // raw id
	StopReason string // "" when null or absent
	Usage      *Usage // nil when missing or null
	Blocks     []Block
	Synthetic  bool   // written by the agent program, not by a model
	APIError   bool   // a synthetic row that reports an error of the API
	Error      string // its class, for example authentication_failed
	HTTPStatus int    // 0 when not stated
	// PerTurn says that the format tells a model's work by turns only: the row belongs to the one
	// response that stands for its turn, and each of its texts is a message of its own.
	PerTurn bool
	Total   *Total // instead of Usage where a thread's running total is told

	// Loose marks the rows of formats in which neither rows nor responses have an id of the provider: a row
	// belongs to the response that its agent is writing, usage comes once and is the last word, and only a
	// response with usage counts as a model call. Where no row names the model, the program's start or
	// terminal record does.
	Loose bool
	Local string       // what a loose response is known by within its session, "" = by its place
	Cost  Opt[float64] // USD, as the agent reports it for this response
}

// BlockKind is the kind of a content block.
type BlockKind uint8

// The kinds of content blocks.
const (
	BlockText         BlockKind = iota // visible text
	BlockThinking                      // readable thinking; an empty one is left out by decoders
	BlockCall                          // a tool call of the agent
	BlockServerCall                    // a tool call that the provider runs itself
	BlockServerResult                  // its result
	BlockUnknown                       // anything else; Unknown says what
)

// Block is one content block of a response.
type Block struct {
	Kind    BlockKind
	Text    Text
	Call    *Call
	Result  *Result  // BlockServerResult; of a BlockCall where one row tells the call and its result
	Unknown *Unknown // BlockUnknown, a malformed call included
}

// OpKind is the normalized event type of a tool call; it is the value of agentstream.tool.kind.
type OpKind uint8

// The kinds of operations. OpNone is a call that has no event (structured output).
const (
	OpUnknown OpKind = iota
	OpNone
	OpCommand
	OpRead
	OpWrite
	OpSearch
	OpList
	OpSkill
	OpOrchestration
)

// Op is one normalized operation of a call. Path, Query and Command are content: decoders leave
// them empty unless tool arguments are captured.
type Op struct {
	Kind       OpKind
	Path       Text
	Resolve    bool // Path is a tool's path: relative ones are joined to the working directory
	Query      Text
	Command    Text
	Start, End Opt[int64] // line range, inclusive
	Skill      string     // name of the skill
	Success    Opt[bool]  // the item's own verdict; absent = the call's
	ExitCode   Opt[int64] // the item's own; absent = the call's
}

// Call is a tool call.
type Call struct {
	ID         string
	Name       string // as the agent sees it
	ArgBytes   int    // size of the compact JSON of the input
	Args       Text   // compact JSON; Content only under capture
	Ops        []Op   // at least one; more for batches
	Launch     bool   // launches a subagent
	AgentType  string // type of the launched subagent, "" when not stated
	Prompt     Text   // the subagent's task
	Background bool   // asked to run in the background
	Workflow   bool   // launches a workflow of agents
	MCPServer  string // set by decoders that know it from fields; else the session splits Name
	MCPTool    string
	Keys       []string // sorted top-level keys of the block, for unknown calls
	Type       string   // type of the block, "" = tool_use
	RawBytes   int      // size of the block
	Raw        Text     // the block; only under capture raw
}

// Result is the result of a tool call.
type Result struct {
	CallID      string
	IsError     bool
	Interrupted bool
	Denied      bool // by a text that means denied at once, or by the record's own marker
	TimedOut    bool
	Text        Text
	ExitCode    Opt[int64]
	Duration    Opt[int64] // reported execution time, nanoseconds
	Async       bool       // the call went to the background: its result is not its end
	TaskID      string     // background task started by the call
	AgentID     string     // subagent that the call ran
	AgentType   string
	Status      string     // the result's own status, for example completed
	RanAgent    bool       // the result has an agent's id or totals: evidence that it ran
	Ends        *TaskEnd   // the result of a tool that asks about or ends another task
	FilePath    Text       // file metadata of a read, for results without a call; Bytes > 0 when there
	FileStart   Opt[int64] // first line, > 0
	HasFile     bool
	Added       Opt[int64] // lines added by an edit
	Removed     Opt[int64] // lines removed
	Success     Opt[bool]  // verdict that overrides IsError and Interrupted
	Outcome     string     // the call's outcome where the record states it; Success is then the events' verdict
	Agents      []AgentState
	NoVerdict   bool     // nothing tells whether the call succeeded; it counts as ok, its events do not say so
	Items       []Item   // of a batch, in the order of the call's operations
	Call        *Call    // the call as the result restates it, for a result whose call was missed
	Unknown     *Unknown // how to report it if no call ever comes
}

// AgentState is what a call that starts, asks or ends subagents says about one of them.
type AgentState struct {
	ID     string
	Ended  bool
	Failed bool
}

// Item is the result of one operation of a batch.
type Item struct {
	Success  Opt[bool]
	ExitCode Opt[int64]
}

// TaskEnd is the end of a background task told by the result of another call or by a notification.
type TaskEnd struct {
	TaskID   string
	CallID   string // the launching call, "" when not stated
	Status   string
	ExitCode Opt[int64]
}

// ChunkKind is the kind of a partial message.
type ChunkKind uint8

// The kinds of partial messages that say more than the rows that restate them.
const (
	ChunkOther ChunkKind = iota // deltas: they only prove that the response runs
	ChunkStart                  // message_start: Response has id, model and the input side
	ChunkDelta                  // message_delta: Response has the final usage and the stop reason
	ChunkStop                   // message_stop
	ChunkNext                   // a request to the model begins: what the agent was writing is complete
)

// Chunk is a partial message of the response that its agent is writing.
type Chunk struct {
	Kind     ChunkKind
	Response Response
	TTFT     Opt[int64] // time to first token, nanoseconds
}

// Prompt is what a person asked. One row gives at most one.
type Prompt struct {
	Text   Text
	Replay bool // restated by the agent program; counts once per uuid
}

// QueueOp is what happens to the texts that wait for the agent.
type QueueOp uint8

// The operations on the queue. Those that take a text out take the oldest and do not repeat it.
const (
	QueueAdd     QueueOp = iota
	QueueTake            // a row of its own follows
	QueueDeliver         // it goes to the model within the running turn; no row follows
)

// Queue is an operation on the texts that wait for the agent.
type Queue struct {
	Op     QueueOp
	Prompt *Prompt // of QueueAdd: what a person typed; nil for anything else
}

// Sidecar is what the file beside a subagent's tells about it. It counts for the rows of its source.
type Sidecar struct {
	AgentType string
	CallID    string // the launching call
}

// TaskKind is what a task record tells.
type TaskKind uint8

// The kinds of task records.
const (
	TaskStarted TaskKind = iota
	TaskProgress
	TaskUpdated
	TaskNotified
)

// Task is a record about a subagent or a command that runs as a task.
type Task struct {
	Kind       TaskKind
	ID         string
	RunID      string
	CallID     string // the launching call, "" when not stated
	Type       string // local_agent, local_bash, local_workflow, …
	AgentType  string
	Status     string // "" when not stated
	EndTime    int64  // Unix nanoseconds, 0 when not stated
	Background Opt[bool]
	Quiet      bool // ambient or skipped in the transcript: no orchestration event
	Again      bool // another run of an agent that ran before: one more span, no more agents
	Prompt     Text
	Workflow   []WorkflowAgent
}

// WorkflowAgent is one agent of a workflow, as the latest progress record tells it.
type WorkflowAgent struct {
	ID       string
	Label    string
	Done     bool
	Failed   bool
	Start    int64 // Unix nanoseconds, 0 when not stated
	Duration int64 // nanoseconds
}

// Retry is a request to the model's API that will be repeated.
type Retry struct {
	Attempt    int64
	HTTPStatus int // 0 when there was no answer
	Error      string
}

// Denied is a refused permission.
type Denied struct {
	CallID string
	Tool   string
}

// RateLimit is a statement about a rate limit.
type RateLimit struct {
	Status      string // "allowed" and "" are no warning
	Type        string
	Utilization Opt[float64] // 1 = the whole limit
}

// Terminal is the record with which an agent program ends a turn.
type Terminal struct {
	Subtype     string
	IsError     bool
	Failed      bool       // an error is to be reported for it (events.md, row result)
	Message     string     // what to report: subtype and flags, never content
	Text        Text       // the error's own words; Content only under capture responses
	ErrorType   string     // value of error.type when Failed
	Cancelled   bool       // ended by a person
	Reason      string     // terminal reason as written
	Duration    Opt[int64] // nanoseconds
	APIDuration Opt[int64] // nanoseconds
	Turns       Opt[int64]
	Cost        Opt[float64] // USD: running total of the process
	Usage       *Usage       // of the turn's main loop
	Models      []ModelUsage // running totals of the process, in input order; nil when absent
	Denials     []string     // ids of calls that were denied in this turn
	DenialCount int
	Index       Opt[int64] // result_index
	Model       string     // of the responses that do not name theirs
	Provider    string     // of that model, as in Start
	Amends      bool       // says how a run was aborted; the run's end is, if there is one, another record
}

// Failure is an error that the agent reports while it works. It does not decide the outcome.
type Failure struct {
	Type  string // value of error.type, "" when not stated
	Text  Text   // its words; Content only under capture responses
	Retry bool   // the notice of a request that will be repeated
}

// ModelUsage is the running total of one model.
type ModelUsage struct {
	Model string // as written
	Usage Usage
	Cost  Opt[float64] // USD
}

// Reset ends a session and names the one that follows it.
type Reset struct{ Session string }

// Context is a caller's context line: it applies to the sessions of its source.
type Context struct {
	TraceID    [16]byte // all zero when the line has no valid traceparent
	SpanID     [8]byte
	Attributes []KeyValue // sorted by key
}

// KeyValue is one attribute of a context line: a string, bool, int64 or float64.
type KeyValue struct {
	Key   string
	Value any
}

// UnknownReason is the value of agentstream.unknown.reason.
type UnknownReason string

// Why something is reported as unknown.
const (
	UnknownRecordType  UnknownReason = "record_type"
	UnknownSubtype     UnknownReason = "subtype"
	UnknownBlock       UnknownReason = "block"
	UnknownTool        UnknownReason = "tool"
	UnknownBadShape    UnknownReason = "bad_shape"
	UnknownAmbiguousID UnknownReason = "ambiguous_id"
	UnknownOrphan      UnknownReason = "orphan_tool_result"
)

// Unknown is the smallest unit of the input that no rule maps.
type Unknown struct {
	Reason UnknownReason
	Type   string   // type of the block or record
	Bytes  int      // size of its JSON
	Keys   []string // its sorted top-level keys
	Raw    Text     // only under capture raw
}

// Skip is why a line, or a part of one, gave no record.
type Skip string

// The reasons for which input is skipped or counted; they are values of the outcome label of
// otelcol_agent_stream_records and keys of "skipped" in the output of replay.
const (
	SkipNotJSON     Skip = "not_json"
	SkipBadShape    Skip = "bad_shape"
	SkipOversize    Skip = "oversize"
	SkipTorn        Skip = "torn"
	SkipTooOld      Skip = "too_old"
	SkipUnknownType Skip = "unknown_type"
	SkipInvalidTime Skip = "invalid_time"
)

// Skips lists every reason, in the order in which they are shown.
var Skips = slices.Clip([]Skip{SkipNotJSON, SkipBadShape, SkipOversize, SkipTorn, SkipTooOld, SkipUnknownType, SkipInvalidTime})

// Diagnostic is a line, or a part of one, that is no record: it becomes a warning with code not_json
// in the session of its source (torn and bad-shape parts are only counted and, where they are JSON,
// reported as unknown).
type Diagnostic struct {
	Skip    Skip
	Text    Text     // the line; Content only under capture raw
	Unknown *Unknown // for JSON values of a bad shape
	Hash    uint64   // of the line, to know copies by
}

// Decoded is what one line gave, in order. Either Record or Diagnostic is set.
type Decoded struct {
	Record     *Record
	Diagnostic *Diagnostic
}
