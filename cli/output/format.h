#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

std::string Thousands(int64_t number);                     // 1,581
std::string Count(int64_t number, std::string_view noun);  // 1 trial, 1,581 trials
std::string NumberText(double number);                     // at most 6 significant digits
std::string PercentText(double fraction);                  // 0.534: 53 %; below 10 %: one decimal
std::string DurationText(double seconds);                  // 0.42 s, 12.3 s, 1 m 12 s, 2 h 05 m, 3 d 04 h
std::string BarText(double fraction, int width);           // a bar of `width` columns
std::string TimeText(const google::protobuf::Timestamp& time);   // local, 2026-11-21 00:55:49; unset: ""
std::string ClockText(const google::protobuf::Timestamp& time);  // local, 00:55:49; unset: ""
std::string UtcText(const google::protobuf::Timestamp& time);    // RFC 3339 with milliseconds; unset: ""
std::string ValueText(const v1::HyperparameterValue& value,
                      bool exact = false);    // exact: shortest round trip
// Formats the trial's value of that name; "": the hyperparameter is inactive in this trial.
std::string ValueText(const v1::Trial& trial, const std::string& name, bool exact = false);
// Guards text against spreadsheet formulas, and quotes it where RFC 4180 requires it.
std::string CsvField(std::string_view text);
std::string CsvLine(const std::vector<std::string>& fields);  // unchanged fields; "\n" at the end

// Seconds from `start` to `end`; 0 if either is unset.
double SecondsBetween(const google::protobuf::Timestamp& start, const google::protobuf::Timestamp& end);

}  // namespace winnow::cli
