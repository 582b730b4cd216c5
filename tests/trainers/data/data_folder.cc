#include "tests/trainers/data/data_folder.h"

#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "tests/catch.h"
#include "trainers/data/reader.h"

namespace winnow {

namespace fs = std::filesystem;

DataFolder::DataFolder() {
  std::string pattern = (fs::temp_directory_path() / "winnow-data-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  root_ = pattern;
}

DataFolder::~DataFolder() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string DataFolder::Write(const std::string& name, std::string_view bytes) const {
  const fs::path file = root_ / name;
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  REQUIRE(out);
  return file.string();
}

DataSet DataFolder::Read(std::string_view bytes, const DataOptions& options, const DataSchema* like) const {
  absl::StatusOr<DataSet> data = ReadDataSet(Write("t.csv", bytes), options, like);
  INFO(data.status());
  REQUIRE(data.ok());
  return *std::move(data);
}

std::string DataFolder::ReadError(std::string_view bytes, const DataOptions& options,
                                  const DataSchema* like) const {
  const absl::StatusOr<DataSet> data = ReadDataSet(Write("t.csv", bytes), options, like);
  REQUIRE_FALSE(data.ok());
  return std::string(data.status().message());
}

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

DataOptions Label(const std::string& label) {
  DataOptions options;
  options.label = label;
  return options;
}

std::vector<float> Feature(const DataSet& data, const std::string& name) {
  const auto found = std::find(data.feature_names.begin(), data.feature_names.end(), name);
  INFO("feature " << name);
  REQUIRE(found != data.feature_names.end());
  return data.columns[static_cast<size_t>(found - data.feature_names.begin())];
}

bool Same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace winnow
