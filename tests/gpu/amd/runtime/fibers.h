static void tern_run_fibers(uint32_t threads) {
  tern_fail("needs fibers");
}
