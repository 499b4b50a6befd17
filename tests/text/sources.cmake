# Written by ./dev sources.
set(sources
  chat_template_test.cpp
  tokenizer_test.cpp)
