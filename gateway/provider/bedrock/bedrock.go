// Package bedrock is what AWS Bedrock's errors mean. Requests to it must be
// signed, which Waybill does not do; its signals are known so that a signing
// proxy in between can be pooled as openai-compatible is.
package bedrock

import (
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const docs provider.Source = "docs.aws.amazon.com bedrock runtime API errors and AWS SDK models, 2026-11"

// Provider is bedrock.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:          "bedrock",
		Dialects:    []events.Dialect{events.DialectAnthropic},
		Auth:        provider.Bearer,
		Known:       []string{"*.*-v*", "anthropic.*", "amazon.*", "meta.*", "*.anthropic.*"},
		Rules:       rules(),
		SignalsOnly: true,
	}
}

// rules: the type stands in x-amzn-errortype or __type, and is a code here.
// There is no Retry-After.
func rules() []provider.Rule {
	throttled := []string{"throttlingexception"}
	return []provider.Rule{
		{ID: "bedrock.day", Codes: throttled, Phrases: []string{"tokens per day"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeModel, From: docs},
		{ID: "bedrock.throttled", Codes: throttled,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: provider.RetryAfter(), BySize: 300 * time.Second, From: docs},
		{ID: "bedrock.quota", Codes: []string{"servicequotaexceededexception"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, From: docs},
		{ID: "bedrock.not-ready", Codes: []string{"modelnotreadyexception"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, From: docs},
		{ID: "bedrock.unavailable", Codes: []string{"serviceunavailableexception"},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, From: docs},
		{ID: "bedrock.model-error", Codes: []string{"modeltimeoutexception", "modelerrorexception", "modelstreamerrorexception"},
			Class: events.ClassServerError, Scope: events.ScopeModel, From: docs},
		{ID: "bedrock.internal", Codes: []string{"internalserverexception"},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, From: docs},
		{ID: "bedrock.credential", Codes: []string{"expiredtokenexception", "unrecognizedclientexception", "invalidsignatureexception"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "bedrock.payment", Codes: []string{"accessdeniedexception"}, Phrases: []string{"payment instrument"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: docs},
		{ID: "bedrock.access", Codes: []string{"accessdeniedexception"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: docs},
		{ID: "bedrock.validation", Codes: []string{"validationexception"}, Class: events.ClassInvalidRequest, From: docs},
		{ID: "bedrock.model", Codes: []string{"resourcenotfoundexception"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: docs},
	}
}
