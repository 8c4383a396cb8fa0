//! Launches and kernels that must not compile, with the words in which the compiler refuses them.
//!
//! `TRYBUILD=overwrite` writes the words anew. The test stands in this package because every case is built with the dependencies of its package,
//! and here they are few.

#[test]
fn wrong_launches_and_kernels_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.pass("tests/compile_fail/pass/*.rs");
}
