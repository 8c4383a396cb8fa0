//! Launches and kernels that must not compile, with the words in which the compiler refuses them.
//!
//! `TRYBUILD=overwrite` writes the words anew.

#[test]
fn wrong_launches_and_kernels_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.pass("tests/compile_fail/pass/*.rs");
}
