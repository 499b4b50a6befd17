// Tokenizers and chat templates that travel in archives, and the C interface over them.
#include <gtest/gtest.h>
#include <tern/text.h>
#include <tern/text_c.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "exporter/archive_writer.h"
#include "tools/text_files/attach.h"

namespace tern::test {
namespace {

namespace fs = std::filesystem;
const std::string kTexts = TERN_SOURCE_DIR "/tests/data/text/";

/// A folder with a tokenizer, a configuration and a template.
class ArchiveText : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/tern_archive_text";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::copy_file(kTexts + "tokenizers/qwen2.json", folder_ + "/tokenizer.json");
    fs::copy_file(kTexts + "templates/chatml.jinja", folder_ + "/chat_template.jinja");
    write("tokenizer_config.json", R"({"eos_token": "<|im_end|>"})");
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ + "/" + name) << text; }

  std::string folder_;
};

TEST_F(ArchiveText, ModelsGiveWhatExportStored) {
  write("generation_config.json", R"({"temperature": 0.6})");
  write("README.md", "not stored");
  Program program;
  EXPECT_EQ(attach_tokenizer(program, folder_),
            std::vector<std::string>{
                "carries tokenizer.json, tokenizer_config.json, chat_template.jinja, generation_config.json"});
  const std::vector<std::byte> bytes = archive_bytes(program);
  const Model model = Model::from_bytes(bytes);
  EXPECT_TRUE(has_tokenizer(model));
  EXPECT_TRUE(has_chat_template(model));
  EXPECT_EQ(model.file(TextFiles::generation), R"({"temperature": 0.6})");
  const Tokenizer tokenizer = Tokenizer::from_model(model);
  EXPECT_EQ(tokenizer.encode("two terns"), Tokenizer::open(folder_).encode("two terns"));
  EXPECT_EQ(tokenizer.eos(), tokenizer.id_of("<|im_end|>"));
  EXPECT_EQ(tokenizer.bos(), std::nullopt);
  EXPECT_EQ(ChatTemplate::from_model(model).render(R"([{"role": "user", "content": "Hi"}])"),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(ArchiveText, ArchivesWithoutTextSaySo) {
  const std::vector<std::byte> bytes = archive_bytes(Program());
  const Model model = Model::from_bytes(bytes);
  EXPECT_FALSE(has_tokenizer(model));
  EXPECT_FALSE(has_chat_template(model));
  EXPECT_THROW(Tokenizer::from_model(model), Error);
  EXPECT_THROW(ChatTemplate::from_model(model), Error);
}

TEST_F(ArchiveText, ExportRefusesBrokenFilesAndNotesUnsupportedOnes) {
  Program program;
  write("chat_template.jinja", "{% include 'other' %}");
  EXPECT_EQ(attach_tokenizer(program, folder_).size(), 2u);
  write("chat_template.jinja", "{% if %}");
  EXPECT_THROW(attach_tokenizer(program, folder_), Error);
  fs::remove(folder_ + "/chat_template.jinja");
  write("tokenizer.json", "{}");
  EXPECT_THROW(attach_tokenizer(program, folder_), Error);
  fs::remove(folder_ + "/tokenizer.json");
  EXPECT_THROW(attach_tokenizer(program, folder_), Error);
}

TEST_F(ArchiveText, CInterface) {
  tern_tokenizer* tokenizer = nullptr;
  ASSERT_EQ(tern_tokenizer_open(folder_.c_str(), &tokenizer), TERN_OK) << tern_text_last_error();
  const std::string text = "two terns";
  std::size_t count = 0;
  ASSERT_EQ(tern_tokenizer_encode(tokenizer, text.data(), text.size(), 0, nullptr, 0, &count), TERN_OK);
  std::vector<std::int64_t> ids(count);
  ASSERT_EQ(tern_tokenizer_encode(tokenizer, text.data(), text.size(), 0, ids.data(), ids.size(), &count), TERN_OK);
  EXPECT_EQ(ids, Tokenizer::open(folder_).encode(text));
  char decoded[64] = {};
  ASSERT_EQ(tern_tokenizer_decode(tokenizer, ids.data(), ids.size(), 1, decoded, sizeof decoded, &count), TERN_OK);
  EXPECT_EQ(std::string(decoded, count), text);
  EXPECT_EQ(tern_tokenizer_bos(tokenizer), -1);
  EXPECT_GE(tern_tokenizer_eos(tokenizer), 0);
  tern_text_stream* stream = nullptr;
  ASSERT_EQ(tern_text_stream_create(tokenizer, nullptr, 0, 1, &stream), TERN_OK);
  tern_tokenizer_free(tokenizer);  // the stream keeps what it needs
  std::string streamed;
  const char* part = nullptr;
  for (const std::int64_t id : ids) {
    ASSERT_EQ(tern_text_stream_add(stream, id, &part, &count), TERN_OK);
    streamed.append(part, count);
  }
  ASSERT_EQ(tern_text_stream_finish(stream, &part, &count), TERN_OK);
  EXPECT_EQ(streamed + std::string(part, count), text);
  tern_text_stream_free(stream);
  tern_chat_template* chat = nullptr;
  ASSERT_EQ(tern_chat_template_open(folder_.c_str(), nullptr, &chat), TERN_OK);
  tern_chat_options options = TERN_CHAT_OPTIONS_INIT;
  options.add_generation_prompt = 0;
  char prompt[128] = {};
  const std::string messages = R"([{"role": "user", "content": "Hi"}])";
  ASSERT_EQ(tern_chat_template_render(chat, messages.data(), messages.size(), &options, prompt, sizeof prompt, &count),
            TERN_OK);
  EXPECT_EQ(std::string(prompt, count), "<|im_start|>user\nHi<|im_end|>\n");
  EXPECT_EQ(tern_chat_template_render(chat, "{", 1, nullptr, prompt, sizeof prompt, &count),
            TERN_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tern_text_last_error()), "");
  tern_chat_template_free(chat);
  EXPECT_EQ(tern_tokenizer_open("/nowhere", &tokenizer), TERN_ERROR_IO);
  EXPECT_EQ(tern_tokenizer_open(nullptr, &tokenizer), TERN_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tern::test
