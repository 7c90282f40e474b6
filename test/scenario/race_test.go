//go:build race

package scenario

// raced: the race detector is on, and a simulated day stands for the week.
const raced = true
