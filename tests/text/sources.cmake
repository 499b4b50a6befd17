# Written by ./dev sources.
set(sources
  archive_text_test.cpp
  chat_template_test.cpp
  tokenizer_test.cpp)
