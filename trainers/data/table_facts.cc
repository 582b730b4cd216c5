#include "trainers/data/table_facts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cache/byte_codec.h"
#include "trainers/data/cell.h"

namespace winnow {
namespace {

std::string Encoded(const TableFacts& facts) {
  ByteWriter writer;
  for (const int64_t number :
       {facts.rows, int64_t{facts.weighs}, int64_t{facts.weighted}, int64_t{facts.grouped}, facts.smallest,
        facts.largest, static_cast<int64_t>(facts.columns.size())}) {
    writer.Number(static_cast<uint64_t>(number));
  }
  writer.Text(facts.first_group);
  writer.Text(facts.last_group);
  for (const ColumnFacts& column : facts.columns) {
    for (const int64_t number : {column.numbers, column.texts, column.missing})
      writer.Number(static_cast<uint64_t>(number));
    for (const std::string* text : {&column.name, &column.first_text, &column.first_text_place,
                                    &column.first_infinite, &column.first_infinite_place}) {
      writer.Text(*text);
    }
  }
  return writer.bytes();
}

absl::Status NotOurs() {
  return absl::DataLossError("what another rank sent is not what this version of the program sends");
}

absl::StatusOr<TableFacts> DecodedFacts(std::string_view bytes) {
  ByteReader reader(bytes);
  TableFacts facts;
  facts.rows = static_cast<int64_t>(reader.Number());
  facts.weighs = reader.Number() != 0;
  facts.weighted = reader.Number() != 0;
  facts.grouped = reader.Number() != 0;
  facts.smallest = static_cast<int64_t>(reader.Number());
  facts.largest = static_cast<int64_t>(reader.Number());
  const uint64_t columns = reader.Number();
  facts.first_group = reader.Text();
  facts.last_group = reader.Text();
  for (uint64_t i = 0; i < columns && reader.ok(); ++i) {
    ColumnFacts column;
    for (int64_t* number : {&column.numbers, &column.texts, &column.missing})
      *number = static_cast<int64_t>(reader.Number());
    for (std::string* text : {&column.name, &column.first_text, &column.first_text_place,
                              &column.first_infinite, &column.first_infinite_place}) {
      *text = reader.Text();
    }
    facts.columns.push_back(std::move(column));
  }
  if (!reader.ok()) return NotOurs();
  return facts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExchangeAlone(std::string_view mine) {
  return std::vector<std::string>{std::string(mine)};
}

absl::StatusOr<TableFacts> MergeFacts(const std::string& path, const std::vector<TableFacts>& parts) {
  TableFacts all = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    const TableFacts& part = parts[i];
    const auto same_name = [](const ColumnFacts& a, const ColumnFacts& b) { return a.name == b.name; };
    if (!std::equal(all.columns.begin(), all.columns.end(), part.columns.begin(), part.columns.end(),
                    same_name)) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: the files of rank {} do not have the columns of rank 0's; expected the same", path, i));
    }
    // A part without rows gives no information about them.
    const auto agree = [&](bool TableFacts::*field) {
      return all.rows == 0 || part.rows == 0 || all.*field == part.*field;
    };
    if (!agree(&TableFacts::weighted) || !agree(&TableFacts::grouped)) {
      return absl::InvalidArgumentError(
          fmt::format("{}: the rows of rank {} have {} and those of the ranks before have not, or the "
                      "reverse; expected it in "
                      "every row or in none",
                      path, i, agree(&TableFacts::weighted) ? "query ids" : "weights"));
    }
    if (all.grouped && part.grouped && all.rows > 0 && part.rows > 0 && all.last_group == part.first_group) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: query id \"{}\" stands in the files of two ranks, {} and before; expected the rows of a "
          "query in one rank's files",
          path, Excerpt(part.first_group), i));
    }
    if (part.rows > 0) {
      if (all.rows == 0) all.first_group = part.first_group;
      all.last_group = part.last_group;
    }
    all.weighted = all.weighted || part.weighted;
    all.grouped = all.grouped || part.grouped;
    all.rows += part.rows;
    all.weighs = all.weighs || part.weighs;
    all.smallest = std::min(all.smallest, part.smallest);
    all.largest = std::max(all.largest, part.largest);
    for (size_t column = 0; column < all.columns.size(); ++column)
      all.columns[column].Merge(part.columns[column]);
  }
  return all;
}

absl::StatusOr<TableFacts> AgreeOnFacts(const std::string& path, const TableFacts& mine, int rank,
                                        const Exchange& exchange) {
  const absl::StatusOr<std::vector<std::string>> texts = exchange(Encoded(mine));
  if (!texts.ok()) return texts.status();
  std::vector<TableFacts> parts;
  int64_t first_row = 0;
  for (const std::string& text : *texts) {
    absl::StatusOr<TableFacts> part = DecodedFacts(text);
    if (!part.ok()) return part.status();
    if (static_cast<int>(parts.size()) < rank) first_row += part->rows;
    parts.push_back(*std::move(part));
  }
  absl::StatusOr<TableFacts> all = MergeFacts(path, parts);
  if (all.ok()) all->first_row = first_row;
  return all;
}

absl::StatusOr<std::vector<std::vector<std::string>>> AgreeOnLevels(
    const std::vector<std::vector<std::string>>& mine, const Exchange& exchange) {
  ByteWriter writer;
  for (const std::vector<std::string>& levels : mine) {
    writer.Number(levels.size());
    for (const std::string& level : levels) writer.Text(level);
  }
  const absl::StatusOr<std::vector<std::string>> texts = exchange(writer.bytes());
  if (!texts.ok()) return texts.status();
  std::vector<std::vector<std::string>> all(mine.size());
  for (const std::string& text : *texts) {
    ByteReader reader(text);
    for (std::vector<std::string>& levels : all) {
      std::vector<std::string> theirs, both;
      const uint64_t count = reader.Number();
      for (uint64_t i = 0; i < count && reader.ok(); ++i) theirs.emplace_back(reader.Text());
      std::set_union(levels.begin(), levels.end(), theirs.begin(), theirs.end(), std::back_inserter(both));
      levels = std::move(both);
    }
    if (!reader.ok() || !reader.rest().empty()) return NotOurs();
  }
  return all;
}

}  // namespace winnow
