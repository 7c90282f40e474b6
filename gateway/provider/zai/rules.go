package zai

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const codes provider.Source = "docs.z.ai/api-reference/api-code and docs.bigmodel.cn/cn/api/api-code, 2026-11"

func rules() []provider.Rule {
	out := policy()
	out = append(out, money()...)
	out = append(out, limits()...)
	out = append(out, accounts()...)
	return append(out, requests()...)
}

func policy() []provider.Rule {
	return []provider.Rule{
		{ID: "zai.policy", Codes: []string{"1300", "1301"}, Class: events.ClassPolicyRefused, From: codes},
	}
}

func money() []provider.Rule {
	return []provider.Rule{
		{ID: "zai.balance", Codes: []string{"1113"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: codes},
		{ID: "zai.plan-expired", Codes: []string{"1309"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: codes},
		{ID: "zai.enterprise-spend", Codes: []string{"1318", "1319", "1320", "1321"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount,
			Resets: []provider.Reset{provider.Calendar("month_start_UTC+8")}, From: codes, Confidence: provider.Low},
	}
}

func limits() []provider.Rule {
	at := provider.Message("reset at", "reset at <YYYY-MM-DD HH:MM:SS> (UTC+8)")
	at.Zone = provider.China()
	stated := []provider.Reset{at}
	return []provider.Rule{
		{ID: "zai.rate", Codes: []string{"1302", "1303"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: codes},
		{ID: "zai.day", Codes: []string{"1304"}, Class: events.ClassWindowExhausted, Scope: events.ScopeAccount,
			Resets: append(stated, provider.Calendar("midnight_UTC+8")), From: codes, Confidence: provider.Low},
		{ID: "zai.overloaded", Codes: []string{"1305", "1312"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: codes},
		{ID: "zai.five-hours", Codes: []string{"1308"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: stated, From: codes},
		{ID: "zai.week-or-month", Codes: []string{"1310"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: stated, From: codes},
		{ID: "zai.no-overflow", Codes: []string{"1316", "1317"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: stated, From: codes},
	}
}

func accounts() []provider.Rule {
	return []provider.Rule{
		{ID: "zai.auth", Codes: []string{"1000", "1001", "1002", "1003", "1004"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: codes},
		{ID: "zai.account", Codes: []string{"1100", "1110", "1111", "1112", "1121"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: codes},
		{ID: "zai.fair-use", Codes: []string{"1313"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, Failover: provider.Never, From: codes},
		{ID: "zai.not-in-plan", Codes: []string{"1220", "1311"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: codes},
	}
}

func requests() []provider.Rule {
	return []provider.Rule{
		{ID: "zai.model", Codes: []string{"1211"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: codes},
		{ID: "zai.method", Codes: []string{"1212", "1221", "1222"}, Class: events.ClassNotFound, From: codes},
		{ID: "zai.parameters", Codes: []string{"1210", "1213", "1214", "1215", "1231", "1261"},
			Class: events.ClassInvalidRequest, From: codes},
		{ID: "zai.server", Codes: []string{"1120", "1200", "1230", "1234"},
			Class: events.ClassServerError, Scope: events.ScopeAccount, From: codes},
	}
}
