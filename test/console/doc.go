// Package console holds the tests that use the built Waybill's console as a
// person does, in real Chromium. It is a module of its own, so that the
// product's go.mod names only what the product imports. Screenshots of every
// page are left in out/ for looking at.
package console
