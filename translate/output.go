// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate

// TraceID is the id of an OpenTelemetry trace; all zero is none.
type TraceID [16]byte

// SpanID is the id of an OpenTelemetry span; all zero is none.
type SpanID [8]byte

// IsZero reports whether the id is none.
func (t TraceID) IsZero() bool { return t == TraceID{} }

// IsZero reports whether the id is none.
func (s SpanID) IsZero() bool { return s == SpanID{} }

// Output is what leaves: exactly one of Span, Log and Step is set.
// An Output is fixed when it is made and never changed afterwards.
type Output struct {
	Resource *Resource
	Span     *Span
	Log      *Log
	Step     *Step
}

// Resource is what an Output's resource says. Sessions share one Resource per agent and version.
type Resource struct {
	Agent   string // agent name; the default of service.name
	Version string // version of the agent program, "" when unknown
}

// SpanType tells the four kinds of spans apart.
type SpanType uint8

// The kinds of spans.
const (
	SpanRoot     SpanType = iota // invoke_agent <agent>: a segment of a session
	SpanChat                     // chat <model>: one response of a model
	SpanTool                     // execute_tool <tool>: one tool call
	SpanSubagent                 // invoke_agent <type>: one subagent
)

// Span is a finished span. One of Root, Chat, Tool and Subagent is set, as Type says.
type Span struct {
	Type     SpanType
	TraceID  TraceID
	SpanID   SpanID
	ParentID SpanID // zero = none
	Start    int64  // Unix nanoseconds
	End      int64  // Unix nanoseconds, never before Start
	Error    bool
	ErrType  string // error.type; set exactly when Error is
	Message  string // status message; only under capture
	Session  string
	Agent    string // gen_ai.agent.name: the agent, inside a subagent its type
	Cut      bool   // some captured value was truncated
	Links    []Link

	Root     *RootAttrs
	Chat     *ChatAttrs
	Tool     *ToolAttrs
	Subagent *SubagentAttrs
}

// LinkKind is the value of agentstream.link.
type LinkKind string

// The kinds of span links.
const (
	LinkContinues  LinkKind = "continues"
	LinkForkedFrom LinkKind = "forked_from"
)

// Link is a span link.
type Link struct {
	TraceID TraceID
	SpanID  SpanID
	Kind    LinkKind
}

// Tokens are disjoint token counts, except that Reasoning is a part of Output.
type Tokens struct {
	Input      int64 // uncached
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64
}

// InputTotal is the input inclusive of cache, as the GenAI conventions count it.
func (t Tokens) InputTotal() int64 { return t.Input + t.CacheRead + t.CacheWrite }

// Outcome values of a session root.
const (
	OutcomeSuccess    = "success"
	OutcomeError      = "error"
	OutcomeCancelled  = "cancelled"
	OutcomeIncomplete = "incomplete"
)

// RootAttrs are the attributes of a session root. Absent values are zero unless Opt says otherwise.
type RootAttrs struct {
	Model           string // raw id; "" unless every call of the main agent used one model
	Format          Format
	Outcome         string
	Turns           int64
	Usage           Opt[Tokens]
	UsageIncomplete bool
	Cost            Opt[float64] // USD
	CostSource      string       // reported, estimated
	CostIncomplete  bool         // a model had no price
	Unattributed    Opt[float64] // USD
	ToolCalls       int64
	ModelCalls      int64
	Subagents       int64
	Denials         int64
	PermissionMode  string
	TerminalReason  string
	APIDuration     Opt[int64] // nanoseconds
	TimeEstimated   bool
	DerivedID       bool
	LateID          string     // a session id that showed up too late to be the session's
	Context         []KeyValue // attributes of the caller, sorted by key
	CWD             string     // only under capture identity, like the next two
	User            string
	Branch          string

	// What replay's JSON document tells beyond the span (interface contract, section 1).
	Place         string // SourceInfo.Place of the first source read
	Prompts       int64
	SubagentCalls int64         // model calls of subagents; ModelCalls includes them
	Models        []ModelTokens // by normalized model, sorted
	Tools         []NameCount   // calls by name, sorted
	Outcomes      []NameCount   // calls by outcome, sorted
}

// ModelTokens are the tokens of one normalized model; "" is a model that the input does not name.
type ModelTokens struct {
	Model  string
	Tokens Tokens
}

// NameCount is a count under a name.
type NameCount struct {
	Name  string
	Count int64
}

// ChatAttrs are the attributes of a model call.
type ChatAttrs struct {
	Provider        string
	Model           string // raw id, "" when unknown
	ResponseID      string
	FinishReasons   []string
	Usage           ChatUsage
	TTFT            Opt[int64] // nanoseconds
	Cost            Opt[float64]
	CostSource      string
	UsageIncomplete bool
	Retries         int64
	Speed           string // "" when standard
	Synthetic       bool   // made for usage that no single response owns
	Input           string // JSON of gen_ai.input.messages, only under capture
	Output          string // JSON of gen_ai.output.messages, only under capture
}

// ChatUsage is the usage on a chat span; what was not reported is absent. Input is inclusive of cache.
type ChatUsage struct {
	Input, Output, CacheRead, CacheWrite, Reasoning Opt[int64]
}

// Tool outcomes.
const (
	ToolOK          = "ok"
	ToolError       = "error"
	ToolDenied      = "denied"
	ToolInterrupted = "interrupted"
	ToolIncomplete  = "incomplete"
	ToolKilled      = "killed"
)

// ToolAttrs are the attributes of a tool call.
type ToolAttrs struct {
	Name        string
	CallID      string
	Extension   bool // gen_ai.tool.type=extension instead of function
	Outcome     string
	Kind        OpKind
	ArgBytes    int64
	ResultBytes Opt[int64]
	MCPServer   string
	MCPTool     string
	ExitCode    Opt[int64]
	Skill       string
	Added       Opt[int64]
	Removed     Opt[int64]
	Background  bool
	ServerSide  bool
	Execution   Opt[int64] // reported execution time, nanoseconds
	Args        string     // only under capture
	Result      string     // only under capture
}

// SubagentAttrs are the attributes of a subagent.
type SubagentAttrs struct {
	ID         string
	Depth      int64 // 1 = launched by the main agent
	Standalone bool  // launcher unknown: attachment standalone instead of tool
	Background bool
}

// Event is the kind of a log record; its name is "agentstream." and the kind.
type Event string

// The normalized events.
const (
	EventSessionStart  Event = "session.start"
	EventSessionEnd    Event = "session.end"
	EventPrompt        Event = "prompt"
	EventAgent         Event = "agent"
	EventReasoning     Event = "reasoning"
	EventCommand       Event = "command"
	EventRead          Event = "read"
	EventWrite         Event = "write"
	EventSearch        Event = "search"
	EventList          Event = "list"
	EventSkill         Event = "skill"
	EventOrchestration Event = "orchestration"
	EventWarning       Event = "warning"
	EventError         Event = "error"
	EventCompaction    Event = "compaction"
	EventUnknown       Event = "unknown"
)

// Severity of a log record.
type Severity uint8

// The severities in use.
const (
	SeverityDebug Severity = iota
	SeverityInfo
	SeverityWarn
	SeverityError
)

// Log is one normalized event.
type Log struct {
	Event    Event
	Severity Severity
	Time     int64 // Unix nanoseconds
	TraceID  TraceID
	SpanID   SpanID
	UID      [16]byte
	Session  string
	Agent    string
	Body     string // short text without content, or captured content
	Captured bool   // Body is captured content

	MessageBytes  Opt[int64]
	Path          string // only under capture, like Query, Command and SkillPath
	Query         string
	Command       string
	SkillPath     string
	Skill         string
	StartLine     Opt[int64]
	EndLine       Opt[int64]
	Success       Opt[bool]
	ExitCode      Opt[int64]
	WarningCode   string
	ErrType       string
	RecordType    string
	RecordSubtype string
	Reason        UnknownReason
	RawBytes      Opt[int64]
	RawKeys       []string
	Raw           string // only under capture raw
	Tool          string
	CallID        string
	Action        string // of an orchestration
	SubagentID    string
	SubagentType  string
	Cut           bool
	OriginalBytes Opt[int64]
	Root          *RootAttrs // session.end: the summary
	RootErr       string     // session.end: error.type of the root
}

// Metric is one of the metrics of the telemetry contract, section 5.
type Metric uint8

// The metrics. MetricNone is none.
const (
	MetricNone           Metric = iota
	MetricTokens                // one step carries a Tokens; gives the gen_ai usage sums and agentstream.token.usage
	MetricResponseTokens        // legacy histogram gen_ai.client.token.usage: one step per complete response
	MetricCost
	MetricUnpriced // Value = tokens
	MetricUsageIncomplete
	MetricInferenceDuration // Value = seconds
	MetricAgentDuration     // Value = seconds
	MetricAgentCalls        // gen_ai.invoke_agent.inference_calls
	MetricAgentTools        // gen_ai.invoke_agent.tool_calls
	MetricToolDuration      // Value = seconds
	MetricToolCalls
	MetricSessions
	MetricSegments
	MetricActive // Value = +1 or -1
	MetricPrompts
	MetricRetries
	MetricDenials
	MetricCompactions
	MetricLines     // Label = added, removed
	MetricRateLimit // Value = utilization, set rather than added
)

// Step is one step of a metric: what is added to (or, for histograms, observed in) the series that
// its labels name. Steps commute, so totals do not depend on their order.
type Step struct {
	Metric    Metric
	Value     float64
	Tokens    Tokens // MetricTokens, MetricResponseTokens
	Agent     string // root agent
	Model     string // label: normalized id
	Provider  string
	Tool      string // tool name, capped by the consumer
	Label     string // outcome, cost source, change type, limit type
	ErrType   string
	Extension bool // tool type
	Subagent  bool
}
