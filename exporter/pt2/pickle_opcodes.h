// Opcodes of Python's pickles, protocols 0 to 5 (CPython's Lib/pickletools.py): their names and arguments.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern::pt2 {

enum class PickleOpcode : std::uint8_t {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  dup = '2',
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  none = 'N',
  binpersid = 'Q',
  reduce = 'R',
  binunicode = 'X',
  append = 'a',
  build = 'b',
  global = 'c',
  appends = 'e',
  binget = 'h',
  long_binget = 'j',
  empty_list = ']',
  binput = 'q',
  long_binput = 'r',
  setitem = 's',
  tuple = 't',
  empty_tuple = ')',
  setitems = 'u',
  empty_dict = '}',
  binfloat = 'G',
  proto = 0x80,
  newobj = 0x81,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  newobj_ex = 0x92,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
};

/// Name in CPython's documentation, such as "INST"; empty for unknown bytes.
std::string_view pickle_opcode_name(std::uint8_t code);

}  // namespace tern::pt2
