// Package codingplan is Alibaba's Coding Plan: the wording tells its windows
// from bursts, under a code that elsewhere means billing.
package codingplan

import (
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/dashscope"
)

const wordings provider.Source = "help.aliyun.com Coding Plan FAQ wordings, 2026-11"

// Provider is alibaba-coding-plan.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "alibaba-coding-plan",
		BaseURL:  "https://coding-intl.dashscope.aliyuncs.com/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		Known:    []string{"qwen*", "glm-*", "kimi-*", "minimax-*", "MiniMax-*"},
		Rules:    append(append(Rules(), dashscope.Rules()...), compatible.Basics()...),
	}
}

// Rules are the rows of plans: by code and words, so that they stand before
// the rows of the same codes that pay-as-you-go has.
func Rules() []provider.Rule {
	quota := []string{"insufficient_quota", "limit_requests", "throttling.allocationquota", "allocationquota"}
	row := func(id string, words []string, class events.Class, resets ...provider.Reset) provider.Rule {
		return provider.Rule{ID: id, Codes: quota, Phrases: words, Class: class, Scope: events.ScopeAccount, Resets: resets,
			From: wordings, Confidence: provider.Medium}
	}
	return []provider.Rule{
		// Five hours, rolling, released minute by minute: worth a look soon.
		row("coding-plan.hours", []string{"hour allocated quota exceeded"}, events.ClassWindowExhausted, provider.Policy("rolling_5h", 5*time.Minute)),
		row("coding-plan.week", []string{"week allocated quota exceeded"}, events.ClassWindowExhausted, provider.Calendar("monday_00:00_UTC+8")),
		row("coding-plan.month", []string{"month allocated quota exceeded"}, events.ClassWindowExhausted),
		row("coding-plan.burst", []string{"concurrency allocated quota exceeded", "usage allocated quota exceeded"}, events.ClassRateLimited, provider.RetryAfter()...),
	}
}
