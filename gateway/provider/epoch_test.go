package provider

import "testing"

func TestAnEpochNamesOneCredentialOfOneAccount(t *testing.T) {
	a := Epoch("a", "sk-1")
	switch {
	case a != Epoch("a", "sk-1"):
		t.Error("it changes")
	case a == Epoch("a", "sk-2"):
		t.Error("two credentials share it")
	case a == Epoch("b", "sk-1"):
		t.Error("two accounts with one credential share it")
	case a == 0 || Epoch("a", "") != 0:
		t.Error("zero stands for no credential")
	}
}
