/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sizes, rates and times as people write them in JSON files and on command lines, and as they are
 * shown to them. Reading gives nothing, rather than 0 or a part, for what is no such quantity.
 */
#ifndef RDMA_CORE_UNIT_STRINGS_H
#define RDMA_CORE_UNIT_STRINGS_H

#include "units.h"

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace rdma
{

namespace detail
{

/// A number followed by a suffix, white space between them allowed. Returns false if there is no
/// number.
inline bool
SplitNumber(std::string_view text, long double& number, std::string& suffix)
{
    const std::string copy(text);
    const char* begin = copy.c_str();
    // strtod also reads "inf", "nan" and hexadecimal, none of which is a quantity here.
    const char* p = begin;
    while (std::isspace(static_cast<unsigned char>(*p)))
    {
        ++p;
    }
    if (!std::isdigit(static_cast<unsigned char>(*p)) && *p != '.' && *p != '-' && *p != '+')
    {
        return false;
    }
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
    {
        return false;
    }
    char* end = nullptr;
    errno = 0;
    number = std::strtold(p, &end);
    if (end == p || !std::isfinite(number) || errno == ERANGE) // too small is not 0
    {
        return false;
    }
    while (std::isspace(static_cast<unsigned char>(*end)))
    {
        ++end;
    }
    suffix = end;
    while (!suffix.empty() && std::isspace(static_cast<unsigned char>(suffix.back())))
    {
        suffix.pop_back();
    }
    return true;
}

struct Unit
{
    const char* name;
    double factor;
};

/// The largest quantity of any kind; below it, long doubles on x86 tell whole numbers apart.
inline constexpr long double kLargestQuantity = 9.2e18L;

template <size_t N>
inline std::optional<long double>
Scale(std::string_view text, const Unit (&units)[N])
{
    long double number = 0;
    std::string suffix;
    if (!SplitNumber(text, number, suffix) || number < 0)
    {
        return std::nullopt;
    }
    for (const auto& unit : units)
    {
        if (suffix == unit.name)
        {
            number *= static_cast<long double>(unit.factor);
            return number > kLargestQuantity ? std::nullopt : std::optional<long double>(number);
        }
    }
    return std::nullopt;
}

/// To the nearest whole number; nothing if that is 0 and the quantity is not.
inline std::optional<uint64_t>
Rounded(long double quantity)
{
    const auto whole = static_cast<uint64_t>(std::llroundl(quantity));
    return whole == 0 && quantity > 0 ? std::nullopt : std::optional<uint64_t>(whole);
}

} // namespace detail

/// What ParseBytes accepts, for error messages.
inline constexpr const char* kBytesHelp =
    "a size in whole bytes such as 4096, 40MB (10^6), 25MiB (2^20) or 1M, 1m (2^20, as nccl-tests)";
/// What ParseBitRate accepts, for error messages.
inline constexpr const char* kBitRateHelp =
    "a rate such as 100Gbps, 25Gb/s, 400G or 50GBps (bytes)";
/// What ParseDuration accepts, for error messages.
inline constexpr const char* kDurationHelp = "a time such as 500ns, 1us, 2.5ms or 1s";

/// "4096", "4096B", "40MB" (decimal), "25MiB" (binary), "1M" and "1m" (binary: nccl-tests'
/// parsesize() in src/common.cu reads G, M, K in either case so). Nothing if malformed, or if it is
/// no whole number of bytes.
inline std::optional<Bytes>
ParseBytes(std::string_view text)
{
    static constexpr double k = 1024.0;
    static constexpr detail::Unit units[] = {
        {"", 1},
        {"B", 1},
        {"K", k},
        {"M", k * k},
        {"G", k * k * k},
        {"T", k * k * k * k},
        {"k", k},
        {"m", k * k},
        {"g", k * k * k},
        {"t", k * k * k * k},
        {"KiB", k},
        {"MiB", k * k},
        {"GiB", k * k * k},
        {"TiB", k * k * k * k},
        {"kB", 1e3},
        {"KB", 1e3},
        {"MB", 1e6},
        {"GB", 1e9},
        {"TB", 1e12},
    };
    const auto v = detail::Scale(text, units);
    if (!v)
    {
        return std::nullopt;
    }
    // 2.3MB is 2,300,000 B but for what binary fractions add to it: a unit in the last place or so.
    const uint64_t whole = static_cast<uint64_t>(std::llroundl(*v));
    const long double error = std::fabs(*v - static_cast<long double>(whole));
    return error > *v * 2 * std::numeric_limits<long double>::epsilon()
               ? std::nullopt
               : std::optional<Bytes>(Bytes(whole));
}

/// "100Gbps", "100Gb/s", "100G", "54.54Gbps", "1e11bps", and bytes: "50GBps", "50GB/s". Nothing if
/// malformed, or if it rounds to 0 without being 0; a bare number has no unit and is refused.
inline std::optional<BitRate>
ParseBitRate(std::string_view text)
{
    static constexpr detail::Unit units[] = {
        {"bps", 1},     {"b/s", 1},    {"K", 1e3},    {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
        {"kbps", 1e3},  {"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9},  {"Tbps", 1e12}, {"kb/s", 1e3},
        {"Kb/s", 1e3},  {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}, {"MBps", 8e6},  {"GBps", 8e9},
        {"TBps", 8e12}, {"MB/s", 8e6}, {"GB/s", 8e9}, {"TB/s", 8e12},
    };
    const auto v = detail::Scale(text, units);
    const auto bps = v ? detail::Rounded(*v) : std::nullopt;
    return bps ? std::optional<BitRate>(BitRate(*bps)) : std::nullopt;
}

/// "500ns", "1us", "2.5ms", "1s", "10ps"; "0" needs no unit. Nothing if malformed, or if it rounds
/// to 0 ps without being
/// 0.
inline std::optional<Duration>
ParseDuration(std::string_view text)
{
    static constexpr detail::Unit units[] = {
        {"ps", 1},
        {"ns", 1e3},
        {"us", 1e6},
        {"ms", 1e9},
        {"s", 1e12},
        {"min", 60e12},
        {"h", 3600e12},
    };
    if (text == "0")
    {
        return Duration(0);
    }
    const auto v = detail::Scale(text, units);
    const auto ps = v ? detail::Rounded(*v) : std::nullopt;
    return ps ? std::optional<Duration>(Duration(static_cast<int64_t>(*ps))) : std::nullopt;
}

namespace detail
{

template <size_t N>
inline std::string
Print(double v, const Unit (&units)[N])
{
    size_t i = 0;
    while (i + 1 < N && v < units[i].factor)
    {
        ++i;
    }
    char text[64];
    std::snprintf(text,
                  sizeof text,
                  "%.6g%s%s",
                  v / units[i].factor,
                  *units[i].name ? " " : "",
                  units[i].name);
    return text;
}

} // namespace detail

/// "25 MiB", "4 KiB", "40 B": to six digits, for people.
inline std::string
ToString(Bytes b)
{
    static constexpr detail::Unit units[] = {{"TiB", 1099511627776.0},
                                             {"GiB", 1073741824.0},
                                             {"MiB", 1048576.0},
                                             {"KiB", 1024.0},
                                             {"B", 1}};
    return detail::Print(static_cast<double>(b.value), units);
}

/// "100 Gb/s": to six digits, for people.
inline std::string
ToString(BitRate r)
{
    static constexpr detail::Unit units[] = {{"Tb/s", 1e12},
                                             {"Gb/s", 1e9},
                                             {"Mb/s", 1e6},
                                             {"kb/s", 1e3},
                                             {"b/s", 1}};
    return detail::Print(static_cast<double>(r.bps), units);
}

/// "1.5 ms": to six digits, for people.
inline std::string
ToString(Duration d)
{
    static constexpr detail::Unit units[] = {{"s", 1e12},
                                             {"ms", 1e9},
                                             {"us", 1e6},
                                             {"ns", 1e3},
                                             {"ps", 1}};
    if (d.ps < 0)
    {
        return "-" + ToString(Duration(-d.ps));
    }
    return detail::Print(static_cast<double>(d.ps), units);
}

} // namespace rdma

#endif // RDMA_CORE_UNIT_STRINGS_H
