// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// The names below follow the OpenTelemetry GenAI semantic conventions as of October 2026, all of which
// are in Development. No Go package has them, so gen_ai names are literals; core names are semconv's.
// Names of our own begin with "agentstream."; none of them stands below gen_ai, session or agent.
const (
	conventionsDate = "October 2026"

	// ScopeName is the instrumentation scope of all three signals: the receiver's import path.
	ScopeName = "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

	// SchemaURL stands on the scopes of spans and logs. The scope of metrics has none, because the
	// Prometheus exporter puts it into every series.
	SchemaURL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"

	// metricsScopeVersion never follows a release: the Prometheus exporter puts it into every series,
	// so a release would start all of them anew.
	metricsScopeVersion = "1"
)

// Resource.
const (
	attrServiceName    = string(semconv.ServiceNameKey)
	attrServiceVersion = string(semconv.ServiceVersionKey)
	attrDistroName     = string(semconv.TelemetryDistroNameKey)

	distroName     = "otelcol-agents"
	unknownService = "unknown_service"
)

// GenAI conventions.
const (
	attrOperation     = "gen_ai.operation.name"
	attrAgentName     = "gen_ai.agent.name"
	attrConversation  = "gen_ai.conversation.id"
	attrProvider      = "gen_ai.provider.name"
	attrSystem        = "gen_ai.system" // spelling of 1.41
	attrRequestModel  = "gen_ai.request.model"
	attrResponseModel = "gen_ai.response.model"
	attrResponseID    = "gen_ai.response.id"
	attrFinishReasons = "gen_ai.response.finish_reasons"
	attrTTFT          = "gen_ai.response.time_to_first_chunk"

	attrUsageInput         = "gen_ai.usage.input_tokens"
	attrUsageOutput        = "gen_ai.usage.output_tokens"
	attrUsageCacheRead     = "gen_ai.usage.cache_read.input_tokens"
	attrUsageCacheWrite    = "gen_ai.usage.cache_write.input_tokens"
	attrUsageCacheCreation = "gen_ai.usage.cache_creation.input_tokens" // spelling of 1.41
	attrUsageReasoning     = "gen_ai.usage.reasoning.output_tokens"

	attrInputMessages  = "gen_ai.input.messages"
	attrOutputMessages = "gen_ai.output.messages"

	attrToolName      = "gen_ai.tool.name"
	attrToolCallID    = "gen_ai.tool.call.id"
	attrToolType      = "gen_ai.tool.type"
	attrToolArguments = "gen_ai.tool.call.arguments"
	attrToolResult    = "gen_ai.tool.call.result"
	attrSkillName     = "gen_ai.skill.name"      // on tool spans
	attrSkill         = "agentstream.skill.name" // on log records
	attrTokenType     = "gen_ai.token.type"
	attrTokenModality = "gen_ai.token.modality"

	opChat        = "chat"
	opInvokeAgent = "invoke_agent"
	opExecuteTool = "execute_tool"

	toolFunction  = "function"
	toolExtension = "extension"
)

// Core conventions.
const (
	attrSessionID  = string(semconv.SessionIDKey)
	attrErrorType  = string(semconv.ErrorTypeKey)
	attrExitCode   = string(semconv.ProcessExitCodeKey)
	attrWorkingDir = string(semconv.ProcessWorkingDirectoryKey)
	attrUserID     = string(semconv.UserIDKey)
	attrUserEmail  = string(semconv.UserEmailKey)
	attrBranch     = string(semconv.VCSRefHeadNameKey)
	attrLineChange = string(semconv.VCSLineChangeTypeKey)
	attrRecordUID  = string(semconv.LogRecordUIDKey)
	attrEventName  = "event.name" // left the conventions for the field EventName; some backends read only this

	errorOther = "_OTHER" // the conventions' error.type for what has no type or one too many
)

// Own attributes.
const (
	attrFormat            = "agentstream.format"
	attrSessionOutcome    = "agentstream.session.outcome"
	attrSessionTurns      = "agentstream.session.turns"
	attrSessionDerived    = "agentstream.session.derived"
	attrSessionLateID     = "agentstream.session.late_id"
	attrTotalInput        = "agentstream.usage.input_tokens"
	attrTotalOutput       = "agentstream.usage.output_tokens"
	attrTotalCacheRead    = "agentstream.usage.cache_read_tokens"
	attrTotalCacheWrite   = "agentstream.usage.cache_write_tokens"
	attrTotalReasoning    = "agentstream.usage.reasoning_tokens"
	attrUsageComplete     = "agentstream.usage.complete"
	attrCost              = "agentstream.cost.usd"
	attrCostSource        = "agentstream.cost.source"
	attrCostComplete      = "agentstream.cost.complete"
	attrCostUnattributed  = "agentstream.cost.unattributed_usd"
	attrToolCalls         = "agentstream.tool_calls"
	attrModelCalls        = "agentstream.model_calls"
	attrSubagents         = "agentstream.subagents"
	attrPermissionDenials = "agentstream.permission_denials"
	attrPermissionMode    = "agentstream.permission_mode"
	attrTerminalReason    = "agentstream.terminal_reason"
	attrAPIDuration       = "agentstream.api_duration_s"
	attrTimeEstimated     = "agentstream.time.estimated"
	attrTruncated         = "agentstream.truncated"
	attrOriginalBytes     = "agentstream.original_bytes"
	attrLink              = "agentstream.link"

	attrRetries   = "agentstream.retries"
	attrSpeed     = "agentstream.speed"
	attrSynthetic = "agentstream.synthetic"

	attrToolOutcome    = "agentstream.tool.outcome"
	attrToolKind       = "agentstream.tool.kind"
	attrArgumentsBytes = "agentstream.tool.arguments_bytes"
	attrResultBytes    = "agentstream.tool.result_bytes"
	attrExecution      = "agentstream.tool.execution_s"
	attrToolBackground = "agentstream.tool.background"
	attrServerSide     = "agentstream.tool.server_side"
	attrMCPServer      = "agentstream.mcp.server"
	attrMCPTool        = "agentstream.mcp.tool"
	attrLinesAdded     = "agentstream.lines_added"
	attrLinesRemoved   = "agentstream.lines_removed"

	attrSubagentID         = "agentstream.subagent.id"
	attrSubagentType       = "agentstream.subagent.type"
	attrSubagentDepth      = "agentstream.subagent.depth"
	attrSubagentAttachment = "agentstream.subagent.attachment"
	attrSubagentBackground = "agentstream.subagent.background"

	attrEventType     = "agentstream.event.type"
	attrMessageBytes  = "agentstream.message_bytes"
	attrFilePath      = "agentstream.file.path"
	attrFileStartLine = "agentstream.file.start_line"
	attrFileEndLine   = "agentstream.file.end_line"
	attrSearchQuery   = "agentstream.search.query"
	attrCommand       = "agentstream.command"
	attrSuccess       = "agentstream.success"
	attrSkillPath     = "agentstream.skill.path"
	attrWarningCode   = "agentstream.warning.code"
	attrRecordType    = "agentstream.record.type"
	attrRecordSubtype = "agentstream.record.subtype"
	attrUnknownReason = "agentstream.unknown.reason"
	attrRawBytes      = "agentstream.raw_bytes"
	attrRawKeys       = "agentstream.raw_keys"
	attrRaw           = "agentstream.raw"
	attrAction        = "agentstream.orchestration.action"

	attrSubagent      = "agentstream.subagent"
	attrOwnTokenType  = "agentstream.token.type"
	attrRateLimitType = "agentstream.rate_limit.type"

	attachedTool       = "tool"
	attachedStandalone = "standalone"

	eventPrefix = "agentstream."
)

// Values of labels that stand for something else.
const (
	modelUnknown    = "unknown" // no model was named
	labelOther      = "other"   // one name more than the limit allows
	modalityUnknown = "unknown" // agents do not tell the modality of tokens
)

// kindNames are the values of agentstream.tool.kind. A call without an event is unknown too.
var kindNames = map[translate.OpKind]string{
	translate.OpUnknown:       "unknown",
	translate.OpNone:          "unknown",
	translate.OpCommand:       "command",
	translate.OpRead:          "read",
	translate.OpWrite:         "write",
	translate.OpSearch:        "search",
	translate.OpList:          "list",
	translate.OpSkill:         "skill",
	translate.OpOrchestration: "orchestration",
}

// attribute describes one attribute for the reader of docs/telemetry.md.
type attribute struct {
	key     string
	typ     string // string, int, double, bool, string[]
	unit    string // "" = none
	capture string // the switches of which it needs one; "" = none is needed
	meaning string
}

// attributeTable is the attributes of one kind of thing that leaves.
type attributeTable struct {
	title string
	about string
	rows  []attribute
}

var resourceTable = attributeTable{
	title: "Resource",
	about: "The same on all three signals, except that metrics carry no `service.version`: each release of an agent would start new series. " +
		"Static attributes of the configuration (`resource_attributes`) follow, sorted by key; the three keys below are never overridden by them.",
	rows: []attribute{
		{attrServiceName, "string", "", "", "the agent's name (`claude-code`, ...), or `service_name` of the configuration"},
		{attrServiceVersion, "string", "", "", "version of the agent program, when the stream tells it; not on metrics"},
		{attrDistroName, "string", "", "", "always `" + distroName + "`"},
	},
}

// spanTables are the attributes of spans: those of all, then those of each kind.
var spanTables = []attributeTable{
	{
		title: "Every span",
		about: "Status is Unset, or Error together with `error.type`; never Ok. A status message is set only where its content is captured.",
		rows: []attribute{
			{attrOperation, "string", "", "", "`invoke_agent`, `chat` or `execute_tool`: the first word of the span's name"},
			{attrAgentName, "string", "", "", "the agent; inside a subagent the subagent's type"},
			{attrConversation, "string", "", "", "session id of the stream"},
			{attrSessionID, "string", "", "", "the same value"},
			{attrErrorType, "string", "", "", "why the status is Error; absent when it is not. `" + errorOther + "` when no type is known"},
			{attrTruncated, "bool", "", "", "`true` when a captured value was cut to `max_content_bytes`"},
		},
	},
	{
		title: "Session root: `invoke_agent <agent>`",
		about: "INTERNAL, without a parent, or below the caller's span. One per segment of a session. Totals include subagents and calls " +
			"that only the agent's final totals name. Attributes of the caller's context line follow the ones below.",
		rows: []attribute{
			{attrRequestModel, "string", "", "", "raw model id, only when every call of the main agent used this one"},
			{attrFormat, "string", "", "", "the decoder: `claude_code`, ..."},
			{attrSessionOutcome, "string", "", "", "`success`, `error`, `cancelled`, `incomplete`"},
			{attrSessionTurns, "int", "{turn}", "", "the larger of human prompts and terminal records; at least 1 when a model was called"},
			{attrTotalInput, "int", "{token}", "", "input tokens, cache included; absent, like the next three, when no usage was reported"},
			{attrTotalOutput, "int", "{token}", "", "output tokens, reasoning included"},
			{attrTotalCacheRead, "int", "{token}", "", "the part of the input that was read from a cache"},
			{attrTotalCacheWrite, "int", "{token}", "", "the part of the input that was written to a cache"},
			{attrTotalReasoning, "int", "{token}", "", "the part of the output that was reasoning, when above 0"},
			{attrUsageComplete, "bool", "", "", "`false` when some response never got its final usage"},
			{attrCost, "double", "{USD}", "", "the agent's reported total, else the estimate; absent when unknown"},
			{attrCostSource, "string", "", "", "`reported` or `estimated`"},
			{attrCostComplete, "bool", "", "", "`false` when a model had no price"},
			{attrCostUnattributed, "double", "{USD}", "", "reported total minus what the seen responses explain"},
			{attrToolCalls, "int", "{call}", "", "tool calls"},
			{attrModelCalls, "int", "{call}", "", "model calls, those of subagents included"},
			{attrSubagents, "int", "{subagent}", "", "subagents"},
			{attrPermissionDenials, "int", "{denial}", "", "denied tool calls, when above 0"},
			{attrPermissionMode, "string", "", "", "as the stream last stated it"},
			{attrTerminalReason, "string", "", "", "as the stream last stated it"},
			{attrAPIDuration, "double", "s", "", "reported time in the model's API, summed over terminal records"},
			{attrTimeEstimated, "bool", "", "", "`true` when the records carried no times and they were spread over the reported duration"},
			{attrSessionDerived, "bool", "", "", "`true` when the stream names no session and its id was derived from its first record"},
			{attrSessionLateID, "string", "", "", "a session id that the stream named when the session already had another"},
			{attrWorkingDir, "string", "", "identity", "the agent's working directory"},
			{attrUserEmail, "string", "", "identity", "the agent's account, when it is an address"},
			{attrUserID, "string", "", "identity", "the agent's account, when it is not"},
			{attrBranch, "string", "", "identity", "version control branch"},
		},
	},
	{
		title: "Model call: `chat <model>`",
		about: "CLIENT, child of its agent's span, one per response however many rows it was written in. The name is `chat` alone when the model is unknown. " +
			"Usage that was not reported is absent, never zero.",
		rows: []attribute{
			{attrProvider, "string", "", "", "`anthropic`, `aws.bedrock`, `gcp.vertex_ai`, ..."},
			{attrRequestModel, "string", "", "", "raw model id"},
			{attrResponseModel, "string", "", "", "the same"},
			{attrResponseID, "string", "", "", "id of the response"},
			{attrFinishReasons, "string[]", "", "", "as the stream states them"},
			{attrUsageInput, "int", "{token}", "", "input tokens, cache included"},
			{attrUsageOutput, "int", "{token}", "", "output tokens, reasoning included"},
			{attrUsageCacheRead, "int", "{token}", "", "the part of the input that was read from a cache"},
			{attrUsageCacheWrite, "int", "{token}", "", "the part of the input that was written to a cache"},
			{attrUsageReasoning, "int", "{token}", "", "the part of the output that was reasoning"},
			{attrTTFT, "double", "s", "", "time to the first chunk, when the stream gives it"},
			{attrCost, "double", "{USD}", "", "cost of this call, when it has a price"},
			{attrCostSource, "string", "", "", "`reported` or `estimated`"},
			{attrUsageComplete, "bool", "", "", "`false` when the response never got its final usage"},
			{attrRetries, "int", "{retry}", "", "requests that failed before, when above 0"},
			{attrSpeed, "string", "", "", "service speed, when not standard"},
			{attrSynthetic, "bool", "", "", "`true` when the span was made for usage that no single response owns"},
			{attrInputMessages, "string", "", "prompts", "JSON of the messages in"},
			{attrOutputMessages, "string", "", "responses, reasoning, tool_arguments", "JSON of the message out: of its parts those that a switch lets out"},
			{attrUsageCacheCreation, "int", "{token}", "", "only under `semantic_conventions: \"1.41\"`, instead of `" + attrUsageCacheWrite + "`"},
			{attrSystem, "string", "", "", "only under `semantic_conventions: \"1.41\"`: the provider's name again"},
		},
	},
	{
		title: "Tool call: `execute_tool <tool>`",
		about: "INTERNAL, child of its agent's span, from the call to its result. Status Error only for the outcomes `error` and `killed`.",
		rows: []attribute{
			{attrToolName, "string", "", "", "the tool as the agent sees it"},
			{attrToolCallID, "string", "", "", "id of the call"},
			{attrToolType, "string", "", "", "`function`; `extension` for tools of an MCP server or of the provider"},
			{attrToolOutcome, "string", "", "", "`ok`, `error`, `denied`, `interrupted`, `incomplete`, `killed`"},
			{attrToolKind, "string", "", "", "`command`, `read`, `write`, `search`, `list`, `skill`, `orchestration`, `unknown`"},
			{attrArgumentsBytes, "int", "By", "", "size of the input as compact JSON"},
			{attrResultBytes, "int", "By", "", "size of the result's text; absent without a result"},
			{attrMCPServer, "string", "", "", "MCP server"},
			{attrMCPTool, "string", "", "", "tool of the MCP server"},
			{attrExitCode, "int", "", "", "exit code, when the result states it"},
			{attrSkillName, "string", "", "", "name of the skill"},
			{attrLinesAdded, "int", "{line}", "", "lines that an edit added"},
			{attrLinesRemoved, "int", "{line}", "", "lines that an edit removed"},
			{attrToolBackground, "bool", "", "", "`true` when the call went to the background"},
			{attrServerSide, "bool", "", "", "`true` when the model's provider ran the tool"},
			{attrExecution, "double", "s", "", "execution time as the agent reports it; the span includes waits"},
			{attrToolArguments, "string", "", "tool_arguments", "the input as JSON"},
			{attrToolResult, "string", "", "tool_results", "the result's text"},
		},
	},
	{
		title: "Subagent: `invoke_agent <type>`",
		about: "INTERNAL, child of the tool call that launched it. Its model and tool calls are its children.",
		rows: []attribute{
			{attrSubagentID, "string", "", "", "the subagent's own id"},
			{attrSubagentDepth, "int", "", "", "1 when the main agent launched it"},
			{attrSubagentAttachment, "string", "", "", "`tool`, or `standalone` when its launcher is unknown and it hangs below the root"},
			{attrSubagentBackground, "bool", "", "", "whether it ran in the background"},
		},
	},
	{
		title: "Span links",
		about: "The root of a later segment links to the root of the one before it, the root of a forked session to its origin.",
		rows:  []attribute{{attrLink, "string", "", "", "`continues` or `forked_from`"}},
	},
}

var logTable = attributeTable{
	title: "Attributes",
	about: "What is not known is absent. `agentstream.session.end` also carries the totals of its session root and its `error.type`.",
	rows: []attribute{
		{attrEventName, "string", "", "", "the event name again"},
		{attrEventType, "string", "", "", "the event name without its prefix"},
		{attrRecordUID, "string", "", "", "32 hexadecimal digits, the same on every reading of the same input"},
		{attrConversation, "string", "", "", "session id of the stream"},
		{attrSessionID, "string", "", "", "the same value"},
		{attrAgentName, "string", "", "", "the agent; inside a subagent the subagent's type"},
		{attrMessageBytes, "int", "By", "", "size of the message"},
		{attrFilePath, "string", "", "tool_arguments", "file or folder"},
		{attrFileStartLine, "int", "", "", "first line of the range"},
		{attrFileEndLine, "int", "", "", "last line of the range, inclusive"},
		{attrSearchQuery, "string", "", "tool_arguments", "pattern, glob or name that was searched"},
		{attrCommand, "string", "", "tool_arguments", "the command as the agent wrote it"},
		{attrSuccess, "bool", "", "", "whether the operation succeeded"},
		{attrExitCode, "int", "", "", "exit code, when the result states it"},
		{attrSkill, "string", "", "", "name of the skill"},
		{attrSkillPath, "string", "", "tool_arguments", "file of the skill"},
		{attrToolName, "string", "", "", "tool of the call"},
		{attrToolCallID, "string", "", "", "id of the call"},
		{attrAction, "string", "", "", "`subagent_started`, `subagent_completed`, `subagent_failed`"},
		{attrSubagentID, "string", "", "", "the subagent's own id"},
		{attrSubagentType, "string", "", "", "the subagent's type"},
		{attrWarningCode, "string", "", "", "`rate_limit`, `api_retry`, `permission_denied`, `not_json`, `late_error_result`"},
		{attrErrorType, "string", "", "", "of errors, of warnings about one, and of a failed session's end"},
		{attrRecordType, "string", "", "", "type of the record, block or item that no rule names"},
		{attrRecordSubtype, "string", "", "", "its subtype"},
		{attrUnknownReason, "string", "", "", "`record_type`, `subtype`, `block`, `tool`, `bad_shape`, `ambiguous_id`, `orphan_tool_result`"},
		{attrRawBytes, "int", "By", "", "size of its JSON"},
		{attrRawKeys, "string[]", "", "", "its top-level keys, sorted"},
		{attrRaw, "string", "", "raw", "its JSON"},
		{attrTruncated, "bool", "", "", "`true` when a captured value was cut to `max_content_bytes`"},
		{attrOriginalBytes, "int", "By", "", "size of that value before"},
	},
}

// event describes one kind of log record.
type event struct {
	name     translate.Event
	severity string
	meaning  string
}

var eventTable = []event{
	{translate.EventSessionStart, "INFO", "first record of a session segment"},
	{translate.EventSessionEnd, "INFO, ERROR on outcome `error`", "a segment was closed"},
	{translate.EventPrompt, "INFO", "a person's prompt"},
	{translate.EventAgent, "INFO", "visible text of the model, joined per message"},
	{translate.EventReasoning, "INFO", "readable thinking, joined per message"},
	{translate.EventCommand, "INFO, WARN when it failed", "a shell command that is none of the next four"},
	{translate.EventRead, "INFO, WARN when it failed", "a file was read"},
	{translate.EventWrite, "INFO, WARN when it failed", "a file was written"},
	{translate.EventSearch, "INFO, WARN when it failed", "a search by pattern, glob or name"},
	{translate.EventList, "INFO, WARN when it failed", "a folder was listed"},
	{translate.EventSkill, "INFO, WARN when it failed", "a skill was loaded"},
	{translate.EventOrchestration, "INFO, WARN when it failed", "a subagent started, completed or failed"},
	{translate.EventWarning, "WARN", "rate limit, API retry, denied permission, a line that is no JSON, an error record after a success"},
	{translate.EventError, "ERROR", "terminal error, error of the model's API, error that the agent reports"},
	{translate.EventCompaction, "INFO", "the conversation was compacted"},
	{translate.EventUnknown, "DEBUG, WARN for `orphan_tool_result`", "a record, block or tool that no rule maps: the stream stays lossless"},
}

// kind of an instrument.
type kind uint8

const (
	counter   kind = iota // monotonic sum
	balance               // sum that falls too
	gauge                 // last value
	histogram             // explicit buckets
)

// label is one label of an instrument. Labels whose value is not known are left out.
type label uint8

const (
	labelOperation label = iota
	labelProvider
	labelModel
	labelModality
	labelAgent
	labelSubagent
	labelTool
	labelToolType
	labelErrorType
	labelTokenType    // input, output of the legacy histogram
	labelOwnTokenType // disjoint token classes
	labelCostSource
	labelToolOutcome
	labelSessionOutcome
	labelLineChange
	labelLimitType
)

// labelTable gives each label its key.
var labelTable = [...]struct{ key, meaning string }{
	labelOperation:      {attrOperation, "always `chat`"},
	labelProvider:       {attrProvider, "`anthropic`, `aws.bedrock`, `gcp.vertex_ai`, ..."},
	labelModel:          {attrRequestModel, "normalized model id: without provider prefix, suffix and snapshot date; `unmapped` for an ARN that names no model, `unknown` when no model is named, `other` beyond the limit"},
	labelModality:       {attrTokenModality, "always `unknown`: agents do not tell it"},
	labelAgent:          {attrAgentName, "the root agent, also for what its subagents did"},
	labelSubagent:       {attrSubagent, "bool: whether a subagent made the call"},
	labelTool:           {attrToolName, "the tool; `other` beyond `metrics.max_tool_names`"},
	labelToolType:       {attrToolType, "`function` or `extension`"},
	labelErrorType:      {attrErrorType, "on failure only; `" + errorOther + "` beyond the limit"},
	labelTokenType:      {attrTokenType, "`input`, `output`"},
	labelOwnTokenType:   {attrOwnTokenType, "`input` (uncached), `cache_read`, `cache_write`, `output`"},
	labelCostSource:     {attrCostSource, "`reported`, `estimated`"},
	labelToolOutcome:    {attrToolOutcome, "`ok`, `error`, `denied`, `interrupted`, `incomplete`, `killed`"},
	labelSessionOutcome: {attrSessionOutcome, "`success`, `error`, `cancelled`, `incomplete`"},
	labelLineChange:     {attrLineChange, "`added`, `removed`"},
	labelLimitType:      {attrRateLimitType, "the limit, as the agent names it"},
}

// instrument describes one metric (telemetry contract, section 5).
type instrument struct {
	name    string
	unit    string
	kind    kind
	float   bool // points of sums are doubles
	buckets []float64
	labels  []label // in the order in which they stand on a point
	about   string
}

// Bounds of the histograms, upper bounds inclusive.
var (
	// 1 to 4^13 by powers of 4.
	tokenBuckets = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	// .01 doubling to 81.92.
	callBuckets = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	// The same, doubling on to 655.36: builds and test suites run for minutes.
	toolBuckets = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36}
	// .1 doubling to 6553.6.
	agentBuckets = []float64{.1, .2, .4, .8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2, 1638.4, 3276.8, 6553.6}
	// 1 doubling to 128, as the GenAI conventions advise for counts of calls.
	countBuckets = []float64{1, 2, 4, 8, 16, 32, 64, 128}
)

var (
	inferenceLabels = []label{labelOperation, labelProvider, labelModel, labelModality, labelAgent, labelSubagent}
	invokeLabels    = []label{labelAgent, labelErrorType}
	agentLabels     = []label{labelAgent}
)

// instrumentID is an index into instruments; the order is the one in which metrics are sent.
type instrumentID uint8

const (
	inUsageInput instrumentID = iota
	inUsageOutput
	inUsageCacheRead
	inUsageCacheWrite
	inUsageReasoning
	inTokens
	inCost
	inUnpriced
	inIncomplete
	inLegacyTokens
	inInferenceDuration
	inAgentDuration
	inAgentCalls
	inAgentTools
	inToolDuration
	inToolCalls
	inSessions
	inSegments
	inActive
	inPrompts
	inRetries
	inDenials
	inCompactions
	inLines
	inRateLimit
)

var instruments = [...]instrument{
	inUsageInput: {
		name: "gen_ai.client.inference.usage.input_tokens", unit: "{token}", labels: inferenceLabels,
		about: "Input tokens, cache included.",
	},
	inUsageOutput: {
		name: "gen_ai.client.inference.usage.output_tokens", unit: "{token}", labels: inferenceLabels,
		about: "Output tokens, reasoning included.",
	},
	inUsageCacheRead: {
		name: "gen_ai.client.inference.usage.cache_read.input_tokens", unit: "{token}", labels: inferenceLabels,
		about: "Input tokens that were read from a cache.",
	},
	inUsageCacheWrite: {
		name: "gen_ai.client.inference.usage.cache_write.input_tokens", unit: "{token}", labels: inferenceLabels,
		about: "Input tokens that were written to a cache.",
	},
	inUsageReasoning: {
		name: "gen_ai.client.inference.usage.reasoning.output_tokens", unit: "{token}", labels: inferenceLabels,
		about: "Output tokens that were reasoning.",
	},
	inTokens: {
		name: "agentstream.token.usage", unit: "{token}",
		labels: []label{labelOwnTokenType, labelModel, labelProvider, labelAgent, labelSubagent},
		about:  "Tokens in disjoint classes: the sum of all is what is billed.",
	},
	inCost: {
		name: "agentstream.cost.usd", unit: "{USD}", float: true,
		labels: []label{labelModel, labelProvider, labelAgent, labelCostSource},
		about:  "Cost: as reported by the agent, else estimated from the price catalogue.",
	},
	inUnpriced: {
		name: "agentstream.unpriced.tokens", unit: "{token}", labels: []label{labelModel, labelAgent},
		about: "Tokens of models without a known price; they are in no cost.",
	},
	inIncomplete: {
		name: "agentstream.usage.incomplete", unit: "{response}", labels: agentLabels,
		about: "Responses that never got their final usage and that no running total made good.",
	},
	inLegacyTokens: {
		name: "gen_ai.client.token.usage", unit: "{token}", kind: histogram, buckets: tokenBuckets,
		labels: []label{labelOperation, labelProvider, labelModel, labelTokenType, labelAgent, labelSubagent},
		about:  "Tokens per response, input with cache; the older metric of the conventions, off with metrics.legacy_token_usage: false.",
	},
	inInferenceDuration: {
		name: "gen_ai.client.inference.duration", unit: "s", kind: histogram, buckets: callBuckets,
		labels: []label{labelOperation, labelProvider, labelModel, labelAgent, labelErrorType},
		about:  "Duration of a model call; measured times only.",
	},
	inAgentDuration: {
		name: "gen_ai.invoke_agent.duration", unit: "s", kind: histogram, buckets: agentBuckets, labels: invokeLabels,
		about: "Duration of a session segment; measured times only.",
	},
	inAgentCalls: {
		name: "gen_ai.invoke_agent.inference_calls", unit: "{inference_call}", kind: histogram, buckets: countBuckets, labels: invokeLabels,
		about: "Model calls of a session segment.",
	},
	inAgentTools: {
		name: "gen_ai.invoke_agent.tool_calls", unit: "{tool_call}", kind: histogram, buckets: countBuckets, labels: invokeLabels,
		about: "Tool calls of a session segment.",
	},
	inToolDuration: {
		name: "gen_ai.execute_tool.duration", unit: "s", kind: histogram, buckets: toolBuckets,
		labels: []label{labelTool, labelToolType, labelAgent, labelErrorType},
		about:  "Duration of a tool call, the reported one where there is one; measured times only.",
	},
	inToolCalls: {
		name: "agentstream.tool.calls", unit: "{call}", labels: []label{labelTool, labelToolOutcome, labelAgent},
		about: "Tool calls.",
	},
	inSessions: {
		name: "agentstream.sessions", unit: "{session}", labels: []label{labelAgent, labelSessionOutcome, labelErrorType},
		about: "Sessions, each once, at its first close.",
	},
	inSegments: {
		name: "agentstream.session.segments", unit: "{segment}", labels: agentLabels,
		about: "Session segments: as many as there are root spans.",
	},
	inActive: {
		name: "agentstream.sessions.active", unit: "{session}", kind: balance, labels: agentLabels,
		about: "Sessions that are open.",
	},
	inPrompts: {
		name: "agentstream.prompts", unit: "{prompt}", labels: agentLabels,
		about: "Prompts of people.",
	},
	inRetries: {
		name: "agentstream.api.retries", unit: "{retry}", labels: agentLabels,
		about: "Requests to a model's API that failed and were repeated.",
	},
	inDenials: {
		name: "agentstream.permission.denials", unit: "{denial}", labels: agentLabels,
		about: "Tool calls that a person or a rule denied.",
	},
	inCompactions: {
		name: "agentstream.compactions", unit: "{compaction}", labels: agentLabels,
		about: "Compactions of a conversation.",
	},
	inLines: {
		name: "agentstream.lines_of_code", unit: "{line}", labels: []label{labelLineChange, labelAgent},
		about: "Lines that edits added and removed.",
	},
	inRateLimit: {
		name: "agentstream.rate_limit.utilization", unit: "1", kind: gauge, float: true, labels: []label{labelLimitType, labelAgent},
		about: "Used part of a rate limit as the agent last told it; 1 is the whole.",
	},
}
