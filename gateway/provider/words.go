package provider

import "strings"

// LimitZero finds "limit: 0" (spaces may vary) that is not the beginning of
// another number: gemini-cli matches limit:\s*0(?!\d|\.\d). text is lower case.
func LimitZero(text string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "limit:")
		if !ok {
			return false
		}
		rest = after
		value := strings.TrimLeft(after, " \t\n")
		if value == "" || value[0] != '0' {
			continue
		}
		if !continuesNumber(value[1:]) {
			return true
		}
	}
}

// continuesNumber says that s goes on with a digit, or a point and a digit.
func continuesNumber(s string) bool {
	if s != "" && s[0] == '.' {
		s = s[1:]
	}
	return s != "" && s[0] >= '0' && s[0] <= '9'
}
