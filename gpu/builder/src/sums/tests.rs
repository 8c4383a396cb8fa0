use super::*;
use crate::{assemble, find_ptxas};

#[path = "../../../../tests/src/skipped.rs"]
mod skipped;
use skipped::skipped;

/// A kernel in which a loop moves the base of a sum. `parts` stand for the sum and for what is done with it.
fn kernel(sum: &str, used: &str) -> String {
    format!(
        "\
.version 6.3
.target sm_75
.address_size 64
.visible .entry moves(.param .u64 out, .param .u32 n)
{{
\t.reg .pred %p<4>;
\t.reg .b32 %r<16>;
\t.reg .b64 %rd<8>;
\tld.param.b64 %rd1, [out];
\tld.param.b32 %r1, [n];
\tmov.u32 %r6, %tid.x;
\tshl.b32 %r2, %r6, 3;
\tcvt.u64.u32 %rd2, %r2;
\tsetp.eq.s32 %p1, %r6, 0;
\t@%p1 bra $L_end;
\t{sum}
$L_loop: // add.s32 %r3, %r2, 16; is a comment here
\tst.shared.b32 [%r2], %r1;
\tadd.s32 %r2, %r2, 128;
\tadd.s64 %rd2, %rd2, 128;
\tadd.s32 %r1, %r1, -1;
\tsetp.ne.s32 %p2, %r1, 0;
\t@%p2 bra $L_loop;
\t{used}
\tst.global.b32 [%rd1], %r4;
$L_end:
\tret;
}}
"
    )
}

const SUM: &str = "add.s32 %r3, %r2, 16;";
const USED: &str = "shl.b32 %r7, %r6, 2; add.s32 %r7, %r7, %r3; ld.shared.b32 %r4, [%r7];";
const USED_64: &str = "mul.wide.u32 %rd7, %r6, 4; add.s64 %rd7, %rd7, %rd3; ld.shared.b32 %r4, [%rd7];";

/// Sums and bases that are found.
fn pairs(ptx: &str) -> Vec<(String, String)> {
    stale_sums(ptx).unwrap().into_iter().map(|found| (found.sum, found.base)).collect()
}

#[track_caller]
fn found(sum: &str, used: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|&(sum, base)| (sum.to_owned(), base.to_owned())).collect();
    assert_eq!(pairs(&kernel(sum, used)), expected, "{sum} used by {used}");
}

#[test]
fn a_sum_is_found_and_goes_through_an_exclusive_or() {
    let ptx = kernel(SUM, USED);
    let line = 1 + ptx.lines().position(|line| line.trim() == SUM).unwrap();
    let stale = StaleSum { line, sum: "%r3".to_owned(), base: "%r2".to_owned() };
    assert_eq!(stale_sums(&ptx).unwrap(), [stale]);
    let opaque = with_opaque_sums(&ptx).unwrap();
    let added: Vec<&str> = opaque.lines().filter(|line| !ptx.lines().any(|old| old == *line)).collect();
    assert_eq!(
        added,
        [
            ".visible .const .align 8 .b64 warpplay_zero = 0;",
            "\t{ .reg .b32 %warpplay_zero; ld.const.b32 %warpplay_zero, [warpplay_zero]; xor.b32 %r3, %r3, %warpplay_zero; }",
        ]
    );
    let behind: Vec<&str> = opaque.lines().skip_while(|line| line.trim() != SUM).skip(1).take(1).collect();
    assert_eq!(behind, added[1..], "right behind the sum");
    let without: String = opaque.split_inclusive('\n').filter(|line| !line.contains("warpplay_zero")).collect();
    assert_eq!(without, ptx, "nothing else changes");
    assert_eq!(stale_sums(&opaque).unwrap(), []);
    assert_eq!(with_opaque_sums(&opaque).unwrap(), opaque);
}

#[test]
fn sums_of_all_forms_are_found() {
    let expected = [("%r3", "%r2")];
    for sum in [
        "add.s32 %r3, %r2, -16;",
        "add.u32 %r3, %r2, 0x10;",
        "add.s32 %r3, 16, %r2;",
        "add.cc.u32 %r3, %r2, 16;",
        "sub.s32 %r3, %r2, 16;",
        "@%p1 add.s32 %r3, %r2, 16;",
        "mov.b32 %r9, 16; add.s32 %r3, %r2, %r9;",
        "mov.b32 %r9, %r2; add.s32 %r3, %r9, 16;",
        "{ .reg .b32 t; add.s32 t, %r2, 16; mov.b32 %r3, t; }",
    ] {
        found(sum, USED, &expected);
    }
    found("add.s64 %rd3, %rd2, 16;", USED_64, &[("%rd3", "%rd2")]);
    // A sum of a sum, and a copy of one: what was made first is no longer used behind the loop.
    found("add.s32 %r9, %r2, 16; add.s32 %r3, %r9, 32;", USED, &expected);
    found("add.s32 %r9, %r2, 16; mov.b32 %r3, %r9;", USED, &expected);
    // What was made first is opaque already.
    let both = "add.s32 %r7, %r9, %r3; ld.shared.b32 %r4, [%r7];";
    found("add.s32 %r9, %r2, 16; add.s32 %r3, %r9, 32;", both, &[("%r9", "%r2")]);
    // A register's own earlier values are another matter than what it holds last.
    found("mov.b32 %r3, 1; add.s32 %r3, %r2, 16;", USED, &expected);
    found("add.s32 %r9, %r2, 16; mov.b32 %r3, %r9; mov.b32 %r3, %r3;", USED, &expected);
}

#[test]
fn widths_are_those_of_the_sum() {
    let opaque = with_opaque_sums(&kernel("add.s64 %rd3, %rd2, 16;", USED_64)).unwrap();
    assert!(
        opaque.contains("ld.const.b64 %warpplay_zero, [warpplay_zero]; xor.b64 %rd3, %rd3, %warpplay_zero;"),
        "{opaque}"
    );
}

#[test]
fn uses_of_all_forms_are_found() {
    let expected = [("%r3", "%r2")];
    for used in [
        "ld.shared.b32 %r4, [%r3];",
        "ld.shared.b32 %r4, [%r3+4];",
        "st.shared.v2.b32 [%r3], {%r6, %r6};",
        "atom.shared.add.u32 %r4, [%r3], 1;",
        "mad.lo.s32 %r7, %r6, 12, %r3; ld.shared.b32 %r4, [%r7];",
        "sub.s32 %r7, %r3, %r6; ld.shared.b32 %r4, [%r7];",
        "add.s32 %r7, %r3, %r6; mov.b32 %r8, %r7; ld.shared.b32 %r4, [%r8];",
        "add.s32 %r7, %r3, %r6; cvt.u64.u32 %rd7, %r7; ld.b32 %r4, [%rd7];",
        "@%p1 ld.shared.b32 %r4, [%r3];",
        "bra $L_there; $L_there: ld.shared.b32 %r4, [%r3];",
        "brx.idx %r6, $L_table; $L_table: .branchtargets $L_there; $L_there: ld.shared.b32 %r4, [%r3];",
    ] {
        found(SUM, used, &expected);
    }
}

#[test]
fn what_is_no_address_behind_the_loop_is_left_alone() {
    for used in [
        "mov.b32 %r4, 1;",
        "setp.lt.u32 %p3, %r3, %r6; selp.b32 %r4, 1, 2, %p3;",
        "xor.b32 %r4, %r3, %r6;",
        "add.s32 %r4, %r3, %r6;",
        // Made again before it is used, or another value by then.
        "mov.b32 %r3, 64; ld.shared.b32 %r4, [%r3];",
        "ld.shared.b32 %r3, [%r6]; ld.shared.b32 %r4, [%r3];",
        // Behind the end nothing is used.
        "ret; ld.shared.b32 %r4, [%r3];",
    ] {
        found(SUM, used, &[]);
    }
}

#[test]
fn bases_that_do_not_change_are_left_alone() {
    for sum in [
        // Used before the loop alone.
        "add.s32 %r3, %r2, 16; ld.shared.b32 %r8, [%r3]; mov.b32 %r3, 64;",
        // Another register, whatever it was copied from.
        "mov.b32 %r3, 16; add.s32 %r3, %r6, 16;",
        "mov.b32 %r3, %r6;",
        "add.s32 %r3, %r2, %r6;",
        "mov.b32 %r9, %r6; add.s32 %r3, %r9, 16;",
        // No sum at all.
        "mov.b32 %r3, %r2;",
        "shl.b32 %r3, %r2, 1;",
        "add.f32 %r3, %r2, 0f3F800000;",
        "ld.shared.b32 %r3, [%r2+16];",
        // A symbol is never assigned.
        "mov.u32 %r3, warpplay_dynamic_shared;",
        // Opaque.
        "add.s32 %r3, %r2, 16; xor.b32 %r3, %r3, %r6;",
    ] {
        found(sum, USED, &[]);
    }
    // A copy is what moves.
    let copied = kernel("add.s32 %r3, %r2, 16; mov.b32 %r9, %r2;", USED);
    let copied = copied.replace(
        "st.shared.b32 [%r2], %r1;\n\tadd.s32 %r2, %r2, 128;",
        "st.shared.b32 [%r9], %r1;\n\tadd.s32 %r9, %r9, 128;",
    );
    assert_eq!(pairs(&copied), []);
}

/// A body without a loop.
fn straight(body: &str) -> String {
    format!(".target sm_75\n.entry k(.param .u32 n) {{ .reg .b32 %r<16>; .reg .pred %p<4>;\n{body}\nret; }}\n")
}

#[test]
fn two_ways_must_meet() {
    let base = "mov.u32 %r2, %tid.x; add.s32 %r3, %r2, 16;";
    let used = "st.shared.b32 [%r3], %r2;";
    let expected = [("%r3".to_owned(), "%r2".to_owned())];
    // Assigned on every way: a new value, which has nothing to do with the old one.
    assert_eq!(pairs(&straight(&format!("{base} add.s32 %r2, %r2, 128; {used}"))), []);
    // On one of two.
    let branch = format!("{base} setp.eq.s32 %p1, %r2, 9; @%p1 bra $L_1; add.s32 %r2, %r2, 128; $L_1: {used}");
    assert_eq!(pairs(&straight(&branch)), expected);
    assert_eq!(
        pairs(&straight(&format!("{base} setp.eq.s32 %p1, %r2, 9; @!%p1 add.s32 %r2, %r2, 128; {used}"))),
        expected
    );
    // Where they have met, a further assignment does not part them.
    let further =
        format!("{base} setp.eq.s32 %p1, %r2, 9; @%p1 bra $L_1; add.s32 %r2, %r2, 128; $L_1: mov.b32 %r2, 0; {used}");
    assert_eq!(pairs(&straight(&further)), expected);
    // A sum that every turn makes anew, of the register that the turn before has moved.
    let anew = format!(
        "mov.u32 %r2, %tid.x; $L_1: add.s32 %r3, %r2, 16; add.s32 %r2, %r2, 128; {used} setp.lt.u32 %p1, %r2, 512; @%p1 bra $L_1;"
    );
    assert_eq!(pairs(&straight(&anew)), []);
    // The turn's sum, and a loop within the turn.
    let nested = format!(
        "mov.u32 %r2, %tid.x; $L_1: add.s32 %r3, %r2, 16; $L_2: add.s32 %r2, %r2, 128; {used} \
         setp.lt.u32 %p1, %r2, 512; @%p1 bra $L_2; setp.lt.u32 %p2, %r2, 900; @%p2 bra $L_1;"
    );
    assert_eq!(pairs(&straight(&nested)), expected);
}

#[test]
fn functions_are_looked_at_one_by_one() {
    let quiet = straight("add.s32 %r3, %r2, 16; st.shared.b32 [%r3], %r2;");
    assert_eq!(with_opaque_sums(&quiet).unwrap(), quiet);
    let both = quiet.clone() + &kernel(SUM, USED);
    assert_eq!(pairs(&both), [("%r3".to_owned(), "%r2".to_owned())]);
    // Braces of variables and sections are no bodies, and names in strings no instructions.
    let odd =
        ".target sm_75\n.global .b32 list[2] = {1, 2};\n.file 1 \"a{b\"\n.section .debug_info {\n.b8 1\n}\n/* { */\n";
    assert_eq!(stale_sums(odd).unwrap(), []);
    assert_eq!(stale_sums(&(odd.to_owned() + &kernel(SUM, USED))).unwrap().len(), 1);
    let declared = format!(".target sm_75\n.extern .func other (.param .b32 x);\n{}", kernel(SUM, USED));
    assert_eq!(stale_sums(&declared).unwrap().len(), 1);
}

#[test]
fn broken_texts_are_errors_and_never_panics() {
    let text = stale_sums(".target sm_75\n.entry k() {\n ret;").unwrap_err().to_string();
    assert!(text.contains("line 2: a brace that nothing closes"), "{text}");
    let headless = kernel(SUM, USED).replace(".target sm_75", "").replace(".address_size 64", "");
    let text = with_opaque_sums(&headless).unwrap_err().to_string();
    assert!(text.contains("line 1: no `.target`"), "{text}");
    for odd in [
        "",
        "}",
        "{}",
        "/*",
        "\"",
        "// é",
        ".entry k {@}",
        ".entry k {@%p}",
        ".entry k {mov.b32}",
        ".entry k {: ; a: é; add.s32 ,,;}",
    ] {
        assert_eq!(stale_sums(odd).unwrap(), [], "{odd}");
    }
    let whole = kernel(SUM, USED);
    for end in (0..whole.len()).filter(|&end| whole.is_char_boundary(end)) {
        let _ = with_opaque_sums(&whole[..end]);
    }
}

#[test]
fn ptxas_takes_the_opaque_text() {
    match find_ptxas() {
        Ok(_) => {}
        Err(error) if crate::ptx_required() => panic!("{error}"),
        Err(error) => return skipped(error),
    }
    for (sum, used) in [(SUM, USED), ("add.s64 %rd3, %rd2, 16;", USED_64)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("moves.ptx");
        std::fs::write(&path, with_opaque_sums(&kernel(sum, used)).unwrap()).unwrap();
        for arch in ["sm_75", "sm_90"] {
            assert_eq!(assemble(&path, arch).unwrap()[0].name, "moves");
        }
    }
}
