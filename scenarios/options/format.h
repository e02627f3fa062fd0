/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Numbers in texts for people: the one place where a time, a size or a rate becomes text.
 *
 * | time | for | 0.0123 s | 240 s | 3 days |
 * |---|---|---|---|---|
 * | HumanTime | measured: three digits, no unit above s | 12.3 ms | 240 s | 259200 s |
 * | SecondsText | estimated: at most three digits | 12.3 ms | 4 min | 72 h |
 * | SpanText | weeks of a job: up to years | 12.3 ms | 4 min | 3 days |
 * | ClockText | time that is left | 0 s | 4:00 min | 72:00:00 h |
 *
 * | size | for | 1,234,567,890 bytes |
 * |---|---|---|
 * | HumanBytes | measured: three digits, decimal | 1.23 GB |
 * | SizeText | planned: at most four digits, decimal, as rates are | 1.235 GB |
 * | BinarySize | memory of a host | 1.1 GiB |
 * | GibText | memory of a GPU: always GiB | 1.1 GiB |
 * | ExactSize | a value that an option takes | 1234567890B |
 */
#ifndef SCENARIOS_OPTIONS_FORMAT_H
#define SCENARIOS_OPTIONS_FORMAT_H

#include <cstdint>
#include <string>

namespace scenario
{

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...);

/// Three significant digits, never an exponent.
std::string Three(double value);
/// "12,345,678".
std::string HumanCount(uint64_t n);
/// "64.5 million": three digits; a billion is 10^9.
std::string CountText(double n);

std::string HumanTime(double us);
std::string HumanTimeOfPs(int64_t ps);
std::string SecondsText(double s);
/// An infinite time is "never".
std::string SpanText(double seconds);
std::string ClockText(double seconds);

std::string HumanBytes(double bytes);
std::string SizeText(double bytes);
/// Below a GiB "103 MiB", "21.1 MiB".
std::string BinarySize(double bytes);
std::string GibText(double bytes);
/// Whole MiB are "25MiB".
std::string ExactSize(uint64_t bytes);

/// "12.4 Gb/s".
std::string HumanRate(double gbps);
/// Of requests or tokens, measured: "0.0123", "12.3", "12,345".
std::string HumanPerSecond(double perS);
/// The same, planned: "4 a second".
std::string PerSecondText(double perS);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_FORMAT_H
