package scenario

import "testing"

func Test_G1_G2_G3_G5_G6_G7_G9_G10_G11_G13_G14_G25_G26_G27_G35_failures(t *testing.T) {
	transcript(t, "g_failures")
}

func Test_G15_G17_G18_G29_G31_G33_G34_G37_G38_G39_G41_G42_G43_quota(t *testing.T) {
	transcript(t, "g_quota")
}

func Test_G19_G21_G22_G23_sticky(t *testing.T) { transcript(t, "g_sticky") }

func Test_A1_A2_A3_A5_A6_A10_A11_A13_A14_A15_A17_A18_A19_A21_A22_A25_A26_A27_A29_A30(t *testing.T) {
	transcript(t, "a_openai_auth")
}

func Test_B1_B2_B3_B5_B6_B9_B10_B11_B13_B14_B15_B17_B21_B22_B23_B25_B26_B27_B29_B30_B31_B33_B34_B35(t *testing.T) {
	transcript(t, "b_admission")
}

// A number that is none voids the reading that it stands in: there is no event
// that could hold it.
func Test_A31_B7_a_number_that_is_none_voids_the_reading(t *testing.T) {
	w := New()
	for _, text := range []string{"credit percent=NaN reset=+3d", "5h left=50; 7d left=Inf", "5h left=1e400", "5h left=lots"} {
		if r, err := w.reading("push", text); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
}
