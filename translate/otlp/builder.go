// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// Options say what the outputs do not.
type Options struct {
	// ServiceName overrides service.name. "" = the agent's name.
	ServiceName string
	// ResourceAttributes are static attributes of every resource. The keys that the resource has anyway
	// (service.name, service.version, telemetry.distro.name) are left out.
	ResourceAttributes map[string]string
	// SemConv141 writes the spelling of the conventions 1.41 where it differs, never both:
	// cache_creation for cache_write, and gen_ai.system beside gen_ai.provider.name.
	SemConv141 bool
	// Version of the scope of spans and logs. "" = none.
	Version string
}

// Builder turns outputs into spans and log records. It is fixed when it is made and may be shared.
type Builder struct {
	opts       Options
	static     []translate.KeyValue
	cacheWrite string
}

// NewBuilder is a Builder with these options.
func NewBuilder(opts Options) *Builder {
	b := &Builder{opts: opts, static: staticAttributes(opts.ResourceAttributes), cacheWrite: attrUsageCacheWrite}
	if opts.SemConv141 {
		b.cacheWrite = attrUsageCacheCreation
	}
	return b
}

// staticAttributes are the attributes of m that a resource may have, sorted by key.
func staticAttributes(m map[string]string) []translate.KeyValue {
	var out []translate.KeyValue
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch k {
		case attrServiceName, attrServiceVersion, attrDistroName:
		default:
			out = append(out, translate.KeyValue{Key: k, Value: m[k]})
		}
	}
	return out
}

// putResource fills a resource (telemetry contract, section 1).
func putResource(m pcommon.Map, name, version string, static []translate.KeyValue) {
	m.EnsureCapacity(3 + len(static))
	m.PutStr(attrServiceName, name)
	putStr(m, attrServiceVersion, version)
	m.PutStr(attrDistroName, distroName)
	for _, kv := range static {
		putValue(m, kv)
	}
}

// resource is what a resource is told apart by.
type resource struct{ name, version string }

func (b *Builder) resource(r *translate.Resource) resource {
	var out resource
	if r != nil {
		out = resource{r.Agent, r.Version}
	}
	out.name = serviceName(b.opts.ServiceName, out.name)
	return out
}

// serviceName is never empty: backends drop or merge what has no service.
func serviceName(override, agent string) string {
	switch {
	case override != "":
		return override
	case agent != "":
		return agent
	}
	return unknownService
}

// Traces are the spans among the outputs, by resource, each resource's in the order of the outputs.
func (b *Builder) Traces(out []translate.Output) ptrace.Traces {
	td := ptrace.NewTraces()
	groups := newGroups(out, b, func(o *translate.Output) bool { return o.Span != nil })
	lists := make([]ptrace.SpanSlice, len(groups.list))
	td.ResourceSpans().EnsureCapacity(len(groups.list))
	for i, g := range groups.list {
		rs := td.ResourceSpans().AppendEmpty()
		putResource(rs.Resource().Attributes(), g.res.name, g.res.version, b.static)
		ss := rs.ScopeSpans().AppendEmpty()
		ss.SetSchemaUrl(SchemaURL)
		b.scope(ss.Scope())
		lists[i] = ss.Spans()
		lists[i].EnsureCapacity(g.n)
	}
	for i := range out {
		if s := out[i].Span; s != nil {
			b.span(lists[groups.of(b, out[i].Resource)].AppendEmpty(), s)
		}
	}
	return td
}

// Logs are the log records among the outputs, by resource, each resource's in the order of the outputs.
// Observed is when they were read, in Unix nanoseconds; it also stands in for an unknown record time.
func (b *Builder) Logs(out []translate.Output, observed int64) plog.Logs {
	ld := plog.NewLogs()
	groups := newGroups(out, b, func(o *translate.Output) bool { return o.Log != nil })
	lists := make([]plog.LogRecordSlice, len(groups.list))
	ld.ResourceLogs().EnsureCapacity(len(groups.list))
	for i, g := range groups.list {
		rl := ld.ResourceLogs().AppendEmpty()
		putResource(rl.Resource().Attributes(), g.res.name, g.res.version, b.static)
		sl := rl.ScopeLogs().AppendEmpty()
		sl.SetSchemaUrl(SchemaURL)
		b.scope(sl.Scope())
		lists[i] = sl.LogRecords()
		lists[i].EnsureCapacity(g.n)
	}
	for i := range out {
		if l := out[i].Log; l != nil {
			b.log(lists[groups.of(b, out[i].Resource)].AppendEmpty(), l, observed)
		}
	}
	return ld
}

func (b *Builder) scope(s pcommon.InstrumentationScope) {
	s.SetName(ScopeName)
	s.SetVersion(b.opts.Version)
}

// groups are the resources of a batch in the order in which they first appear. A batch has few, and
// neighbours mostly share one, so a list that remembers its last hit is faster than a map.
type groups struct {
	list    []group
	last    int
	lastRes *translate.Resource
}

type group struct {
	res resource
	n   int // how many outputs
}

func newGroups(out []translate.Output, b *Builder, in func(*translate.Output) bool) *groups {
	g := &groups{last: -1}
	for i := range out {
		if in(&out[i]) {
			g.list[g.of(b, out[i].Resource)].n++
		}
	}
	return g
}

// of is the index of the resource's group, which is made when there is none.
func (g *groups) of(b *Builder, r *translate.Resource) int {
	if g.last >= 0 && g.lastRes == r {
		return g.last
	}
	res := b.resource(r)
	g.lastRes = r
	g.last = slices.IndexFunc(g.list, func(x group) bool { return x.res == res })
	if g.last < 0 {
		g.last = len(g.list)
		g.list = append(g.list, group{res: res})
	}
	return g.last
}

// span fills s (telemetry contract, section 3).
func (b *Builder) span(s ptrace.Span, sp *translate.Span) {
	s.SetTraceID(pcommon.TraceID(sp.TraceID))
	s.SetSpanID(pcommon.SpanID(sp.SpanID))
	s.SetParentSpanID(pcommon.SpanID(sp.ParentID))
	s.SetStartTimestamp(pcommon.Timestamp(sp.Start))
	s.SetEndTimestamp(pcommon.Timestamp(sp.End))
	s.SetKind(ptrace.SpanKindInternal)
	op, of := opInvokeAgent, sp.Agent
	switch sp.Type {
	case translate.SpanChat:
		s.SetKind(ptrace.SpanKindClient)
		op, of = opChat, sp.Chat.Model
	case translate.SpanTool:
		op, of = opExecuteTool, sp.Tool.Name
	}
	if of == "" {
		s.SetName(op)
	} else {
		s.SetName(op + " " + of)
	}
	m := s.Attributes()
	m.EnsureCapacity(24)
	m.PutStr(attrOperation, op)
	putStr(m, attrAgentName, sp.Agent)
	putStr(m, attrConversation, sp.Session)
	putStr(m, attrSessionID, sp.Session)
	switch sp.Type {
	case translate.SpanRoot:
		putSummary(m, sp.Root)
		putIdentity(m, sp.Root)
	case translate.SpanChat:
		b.putChat(m, sp.Chat)
	case translate.SpanTool:
		putTool(m, sp.Tool)
	case translate.SpanSubagent:
		putSubagent(m, sp.Subagent)
	}
	putTrue(m, attrTruncated, sp.Cut)
	if sp.Error {
		// Unset otherwise, never Ok: Datadog takes any code above zero for an error.
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage(sp.Message)
		putErrorType(m, sp.ErrType)
	}
	if sp.Type == translate.SpanRoot {
		putContext(m, sp.Root.Context)
	}
	for _, l := range sp.Links {
		to := s.Links().AppendEmpty()
		to.SetTraceID(pcommon.TraceID(l.TraceID))
		to.SetSpanID(pcommon.SpanID(l.SpanID))
		to.Attributes().PutStr(attrLink, string(l.Kind))
	}
}

// putErrorType keeps the rule that an error always has a type.
func putErrorType(m pcommon.Map, typ string) {
	if typ == "" {
		typ = errorOther
	}
	m.PutStr(attrErrorType, typ)
}

// putSummary is what a session root and the end event of its session share.
func putSummary(m pcommon.Map, r *translate.RootAttrs) {
	putStr(m, attrRequestModel, r.Model)
	putStr(m, attrFormat, string(r.Format))
	putStr(m, attrSessionOutcome, r.Outcome)
	m.PutInt(attrSessionTurns, r.Turns)
	if r.Usage.OK {
		t := r.Usage.V
		m.PutInt(attrTotalInput, t.InputTotal())
		m.PutInt(attrTotalOutput, t.Output)
		m.PutInt(attrTotalCacheRead, t.CacheRead)
		m.PutInt(attrTotalCacheWrite, t.CacheWrite)
		// Few agents report reasoning, so a zero says nothing.
		putPositive(m, attrTotalReasoning, t.Reasoning)
	}
	putFalse(m, attrUsageComplete, r.UsageIncomplete)
	putOptDouble(m, attrCost, r.Cost)
	if r.Cost.OK {
		putStr(m, attrCostSource, r.CostSource)
	}
	putFalse(m, attrCostComplete, r.CostIncomplete)
	putOptDouble(m, attrCostUnattributed, r.Unattributed)
	m.PutInt(attrToolCalls, r.ToolCalls)
	m.PutInt(attrModelCalls, r.ModelCalls)
	m.PutInt(attrSubagents, r.Subagents)
	putPositive(m, attrPermissionDenials, r.Denials)
	putStr(m, attrPermissionMode, r.PermissionMode)
	putStr(m, attrTerminalReason, r.TerminalReason)
	putOptSeconds(m, attrAPIDuration, r.APIDuration)
	putTrue(m, attrTimeEstimated, r.TimeEstimated)
	putTrue(m, attrSessionDerived, r.DerivedID)
	putStr(m, attrSessionLateID, r.LateID)
}

// putIdentity is what only capture identity lets out.
func putIdentity(m pcommon.Map, r *translate.RootAttrs) {
	putStr(m, attrWorkingDir, r.CWD)
	if strings.Contains(r.User, "@") {
		m.PutStr(attrUserEmail, r.User)
	} else {
		putStr(m, attrUserID, r.User)
	}
	putStr(m, attrBranch, r.Branch)
}

// putContext adds the caller's attributes. They cannot say anything in our name: keys of the namespaces
// of this contract and keys that are there already are left out.
func putContext(m pcommon.Map, kvs []translate.KeyValue) {
	for _, kv := range kvs {
		if strings.HasPrefix(kv.Key, "agentstream.") || strings.HasPrefix(kv.Key, "gen_ai.") || kv.Key == attrErrorType {
			continue
		}
		if _, ok := m.Get(kv.Key); ok {
			continue
		}
		putValue(m, kv)
	}
}

func (b *Builder) putChat(m pcommon.Map, c *translate.ChatAttrs) {
	putStr(m, attrProvider, c.Provider)
	putStr(m, attrRequestModel, c.Model)
	putStr(m, attrResponseModel, c.Model)
	putStr(m, attrResponseID, c.ResponseID)
	putStrings(m, attrFinishReasons, c.FinishReasons)
	putOptInt(m, attrUsageInput, c.Usage.Input)
	putOptInt(m, attrUsageOutput, c.Usage.Output)
	putOptInt(m, attrUsageCacheRead, c.Usage.CacheRead)
	putOptInt(m, b.cacheWrite, c.Usage.CacheWrite)
	putOptInt(m, attrUsageReasoning, c.Usage.Reasoning)
	putOptSeconds(m, attrTTFT, c.TTFT)
	putOptDouble(m, attrCost, c.Cost)
	if c.Cost.OK {
		putStr(m, attrCostSource, c.CostSource)
	}
	putFalse(m, attrUsageComplete, c.UsageIncomplete)
	putPositive(m, attrRetries, c.Retries)
	putStr(m, attrSpeed, c.Speed)
	putTrue(m, attrSynthetic, c.Synthetic)
	putStr(m, attrInputMessages, c.Input)
	putStr(m, attrOutputMessages, c.Output)
	if b.opts.SemConv141 {
		putStr(m, attrSystem, c.Provider)
	}
}

func putTool(m pcommon.Map, t *translate.ToolAttrs) {
	// Even an empty name stands there: the span's name is built from it.
	m.PutStr(attrToolName, t.Name)
	putStr(m, attrToolCallID, t.CallID)
	m.PutStr(attrToolType, toolType(t.Extension))
	putStr(m, attrToolOutcome, t.Outcome)
	m.PutStr(attrToolKind, kindNames[t.Kind])
	m.PutInt(attrArgumentsBytes, t.ArgBytes)
	putOptInt(m, attrResultBytes, t.ResultBytes)
	putStr(m, attrMCPServer, t.MCPServer)
	putStr(m, attrMCPTool, t.MCPTool)
	putOptInt(m, attrExitCode, t.ExitCode)
	putStr(m, attrSkillName, t.Skill)
	putOptInt(m, attrLinesAdded, t.Added)
	putOptInt(m, attrLinesRemoved, t.Removed)
	putTrue(m, attrToolBackground, t.Background)
	putTrue(m, attrServerSide, t.ServerSide)
	putOptSeconds(m, attrExecution, t.Execution)
	putStr(m, attrToolArguments, t.Args)
	putStr(m, attrToolResult, t.Result)
}

func toolType(extension bool) string {
	if extension {
		return toolExtension
	}
	return toolFunction
}

func putSubagent(m pcommon.Map, a *translate.SubagentAttrs) {
	putStr(m, attrSubagentID, a.ID)
	m.PutInt(attrSubagentDepth, a.Depth)
	if a.Standalone {
		m.PutStr(attrSubagentAttachment, attachedStandalone)
	} else {
		m.PutStr(attrSubagentAttachment, attachedTool)
	}
	m.PutBool(attrSubagentBackground, a.Background)
}

// severities are the numbers and texts of the log data model.
var severities = [...]struct {
	number plog.SeverityNumber
	text   string
}{
	translate.SeverityDebug: {plog.SeverityNumberDebug, "DEBUG"},
	translate.SeverityInfo:  {plog.SeverityNumberInfo, "INFO"},
	translate.SeverityWarn:  {plog.SeverityNumberWarn, "WARN"},
	translate.SeverityError: {plog.SeverityNumberError, "ERROR"},
}

// RecordUID is the log.record.uid of a record that a Builder made; false without.
func RecordUID(r plog.LogRecord) (uid [16]byte, ok bool) {
	v, ok := r.Attributes().Get(attrRecordUID)
	if !ok {
		return uid, false
	}
	n, err := hex.Decode(uid[:], []byte(v.Str()))
	return uid, err == nil && n == len(uid)
}

// log fills r (telemetry contract, section 4).
func (b *Builder) log(r plog.LogRecord, l *translate.Log, observed int64) {
	t := l.Time
	if t <= 0 {
		t = observed
	}
	r.SetTimestamp(pcommon.Timestamp(t))
	r.SetObservedTimestamp(pcommon.Timestamp(observed))
	r.SetTraceID(pcommon.TraceID(l.TraceID))
	r.SetSpanID(pcommon.SpanID(l.SpanID))
	r.SetSeverityNumber(severities[l.Severity].number)
	r.SetSeverityText(severities[l.Severity].text)
	name := eventPrefix + string(l.Event)
	r.SetEventName(name)
	putBody(r.Body(), l)

	m := r.Attributes()
	m.EnsureCapacity(16)
	m.PutStr(attrEventName, name)
	m.PutStr(attrEventType, string(l.Event))
	m.PutStr(attrRecordUID, hex.EncodeToString(l.UID[:]))
	putStr(m, attrConversation, l.Session)
	putStr(m, attrSessionID, l.Session)
	putStr(m, attrAgentName, l.Agent)
	putOptInt(m, attrMessageBytes, l.MessageBytes)
	putStr(m, attrFilePath, l.Path)
	putOptInt(m, attrFileStartLine, l.StartLine)
	putOptInt(m, attrFileEndLine, l.EndLine)
	putStr(m, attrSearchQuery, l.Query)
	putStr(m, attrCommand, l.Command)
	if l.Success.OK {
		m.PutBool(attrSuccess, l.Success.V)
	}
	putOptInt(m, attrExitCode, l.ExitCode)
	putStr(m, attrSkill, l.Skill)
	putStr(m, attrSkillPath, l.SkillPath)
	putStr(m, attrToolName, l.Tool)
	putStr(m, attrToolCallID, l.CallID)
	putStr(m, attrAction, l.Action)
	putStr(m, attrSubagentID, l.SubagentID)
	putStr(m, attrSubagentType, l.SubagentType)
	putStr(m, attrWarningCode, l.WarningCode)
	putStr(m, attrRecordType, l.RecordType)
	putStr(m, attrRecordSubtype, l.RecordSubtype)
	putStr(m, attrUnknownReason, string(l.Reason))
	putOptInt(m, attrRawBytes, l.RawBytes)
	putStrings(m, attrRawKeys, l.RawKeys)
	putStr(m, attrRaw, l.Raw)
	putTrue(m, attrTruncated, l.Cut)
	putOptInt(m, attrOriginalBytes, l.OriginalBytes)
	if l.Root != nil {
		putSummary(m, l.Root)
	}
	switch {
	case l.ErrType != "":
		m.PutStr(attrErrorType, l.ErrType)
	case l.RootErr != "":
		m.PutStr(attrErrorType, l.RootErr)
	}
}

// putBody writes captured messages as the conventions' message, so that logs and the messages on
// spans have one shape; all other bodies are short texts.
func putBody(v pcommon.Value, l *translate.Log) {
	role, part := "assistant", "text"
	switch {
	case l.Captured && l.Event == translate.EventPrompt:
		role = "user"
	case l.Captured && l.Event == translate.EventAgent:
	case l.Captured && l.Event == translate.EventReasoning:
		part = "reasoning"
	default:
		if l.Body != "" {
			v.SetStr(l.Body)
		}
		return
	}
	m := v.SetEmptyMap()
	m.EnsureCapacity(2)
	m.PutStr("role", role)
	p := m.PutEmptySlice("parts").AppendEmpty().SetEmptyMap()
	p.EnsureCapacity(2)
	p.PutStr("type", part)
	p.PutStr("content", l.Body)
}

// The helpers below leave absent what is absent.

func putStr(m pcommon.Map, k, v string) {
	if v != "" {
		m.PutStr(k, v)
	}
}

func putTrue(m pcommon.Map, k string, v bool) {
	if v {
		m.PutBool(k, true)
	}
}

// putFalse says false when not holds: of attributes whose presence is the news.
func putFalse(m pcommon.Map, k string, not bool) {
	if not {
		m.PutBool(k, false)
	}
}

func putPositive(m pcommon.Map, k string, v int64) {
	if v > 0 {
		m.PutInt(k, v)
	}
}

func putOptInt(m pcommon.Map, k string, v translate.Opt[int64]) {
	if v.OK {
		m.PutInt(k, v.V)
	}
}

func putOptDouble(m pcommon.Map, k string, v translate.Opt[float64]) {
	if v.OK {
		m.PutDouble(k, v.V)
	}
}

// putOptSeconds writes nanoseconds as seconds.
func putOptSeconds(m pcommon.Map, k string, ns translate.Opt[int64]) {
	if ns.OK {
		m.PutDouble(k, float64(ns.V)/1e9)
	}
}

func putStrings(m pcommon.Map, k string, vs []string) {
	if len(vs) == 0 {
		return
	}
	s := m.PutEmptySlice(k)
	s.EnsureCapacity(len(vs))
	for _, v := range vs {
		s.AppendEmpty().SetStr(v)
	}
}

func putValue(m pcommon.Map, kv translate.KeyValue) {
	switch v := kv.Value.(type) {
	case string:
		m.PutStr(kv.Key, v)
	case bool:
		m.PutBool(kv.Key, v)
	case int64:
		m.PutInt(kv.Key, v)
	case float64:
		m.PutDouble(kv.Key, v)
	}
}
