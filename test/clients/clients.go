// Package clients holds the tests that drive the built Waybill with the
// official SDKs. It is a module of its own, so that the product's go.mod names
// only what the product imports.
package clients
