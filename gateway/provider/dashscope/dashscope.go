// Package dashscope is Alibaba Model Studio (Qwen), pay as you go. Here
// insufficient_quota means a throughput allocation, the opposite of OpenAI's.
package dashscope

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

const (
	codes   provider.Source = "help.aliyun.com Model Studio error codes, 2026-11"
	general provider.Source = "general knowledge, not read in a source, 2026-11"
)

// Provider is dashscope.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "dashscope",
		BaseURL:  "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "DASHSCOPE_API_KEY",
		Known:    Known(),
		Rules:    append(Rules(), compatible.Basics()...),
	}
}

// Known are the models of Alibaba's own families.
func Known() []string {
	return []string{"qwen*", "qwq-*", "qvq-*", "text-embedding-v*", "wan*"}
}

// Rules are the rows that Model Studio's plans share.
func Rules() []provider.Rule {
	return append(append(policy(), money()...), append(limits(), accounts()...)...)
}

func policy() []provider.Rule {
	return []provider.Rule{
		{ID: "dashscope.inspection", Codes: []string{"datainspectionfailed", "data_inspection_failed"},
			Class: events.ClassPolicyRefused, From: codes},
	}
}

func money() []provider.Rule {
	return []provider.Rule{
		{ID: "dashscope.free-grant", Codes: []string{"throttling.allocationquota"}, Phrases: []string{"free allocated quota exceeded"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeModel, From: codes},
		{ID: "dashscope.free-tier-only", Codes: []string{"allocationquota.freetieronly"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeModel, From: codes},
		{ID: "dashscope.arrears", Codes: []string{"arrearage", "prepaidbilloverdue", "postpaidbilloverdue", "commoditynotpurchased"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: codes},
		{ID: "dashscope.overdue", Codes: []string{"accessdenied", "access_denied"}, Phrases: []string{"overdue"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: codes},
	}
}

func limits() []provider.Rule {
	resets := append(provider.RetryAfter(), provider.Message("try again in", ""))
	return []provider.Rule{
		{ID: "dashscope.rate", Codes: []string{"throttling", "throttling.ratequota"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, From: codes},
		{ID: "dashscope.rate-other", Codes: []string{"limit_requests", "throttling.burstrate"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, From: general, Confidence: provider.Low},
		{ID: "dashscope.allocation", Codes: []string{"throttling.allocationquota", "insufficient_quota"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, From: codes},
	}
}

func accounts() []provider.Rule {
	return []provider.Rule{
		{ID: "dashscope.key", Codes: []string{"invalidapikey"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: codes},
		{ID: "dashscope.denied", Codes: []string{"accessdenied", "access_denied"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: codes},
		{ID: "dashscope.model-denied", Codes: []string{"model.accessdenied"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: general, Confidence: provider.Low},
		{ID: "dashscope.model", Codes: []string{"modelnotfound"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: codes},
		{ID: "dashscope.internal", Codes: []string{"internalerror", "internalerror.algo", "internalerror.timeout"},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, From: codes},
		{ID: "dashscope.unavailable", Codes: []string{"modelunavailable", "modelservingerror"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, From: general, Confidence: provider.Low},
	}
}
