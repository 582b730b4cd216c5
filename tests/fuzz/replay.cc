// The main of a fuzzer that is built without libFuzzer: runs every file of the corpus and then a fixed number
// of changed copies of them, the same ones each time, so that each build of the tests exercises every parser
// briefly.
//
//   <name>_replay CORPUS_FOLDER [MUTATIONS]

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

constexpr size_t kLongest = 1 << 16;

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  size_t Below(size_t below) {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % below;
  }

 private:
  uint64_t state_ = 1;
};

std::vector<std::string> ReadCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void Change(std::string* text, const std::vector<std::string>& corpus, Random* random) {
  constexpr const char* kTokens[] = {"\xff\xff\xff\xff",   "-1", "1e308", "nan", "{", "[", "\"", "\n", ",",
                                     "9223372036854775808"};
  const size_t at = random->Below(text->size() + 1);
  switch (random->Below(6)) {
    case 0:
      if (at < text->size()) (*text)[at] = static_cast<char>(random->Below(256));
      break;
    case 1:
      if (at < text->size()) (*text)[at] ^= static_cast<char>(1 << random->Below(8));
      break;
    case 2:
      text->erase(at, 1 + random->Below(16));
      break;
    case 3:
      text->insert(at, kTokens[random->Below(std::size(kTokens))]);
      break;
    case 4:
      text->insert(at, text->substr(random->Below(text->size() + 1), 1 + random->Below(64)));
      break;
    default: {
      const std::string& other = corpus[random->Below(corpus.size())];
      text->replace(at, std::string::npos, other, random->Below(other.size() + 1), std::string::npos);
    }
  }
  if (text->size() > kLongest) text->resize(kLongest);
}

void Run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATIONS]\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = ReadCorpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no inputs\n", argv[1]);
    return 1;
  }
  for (const std::string& input : corpus) Run(input);
  const int mutations = argc > 2 ? std::atoi(argv[2]) : 0;
  Random random;
  for (int i = 0; i < mutations; ++i) {
    std::string text = corpus[i % corpus.size()];
    for (size_t changes = 1 + random.Below(4); changes > 0; --changes) Change(&text, corpus, &random);
    Run(text);
  }
  std::printf("%zu inputs and %d changed ones\n", corpus.size(), mutations);
  return 0;
}
