/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/format.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace scenario
{

std::string
Format(const char* format, ...)
{
    std::va_list values;
    va_start(values, format);
    std::va_list again;
    va_copy(again, values);
    const int size = std::vsnprintf(nullptr, 0, format, values);
    va_end(values);
    std::string text(static_cast<std::size_t>(std::max(0, size)), '\0');
    std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    return text;
}

std::string
Three(double value)
{
    const double magnitude = std::fabs(value);
    return Format(magnitude >= 99.95 ? "%.0f" : magnitude >= 9.995 ? "%.1f" : "%.2f", value);
}

std::string
HumanCount(uint64_t n)
{
    std::string digits = std::to_string(n);
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

std::string
CountText(double n)
{
    if (n >= 1e9)
    {
        return Format("%.3g billion", n * 1e-9);
    }
    return n >= 1e6 ? Format("%.3g million", n * 1e-6) : Format("%.0f", n);
}

std::string
HumanTime(double us)
{
    return us == 0    ? "0 s"
           : us < 1   ? Three(us * 1e3) + " ns"
           : us < 1e3 ? Three(us) + " us"
           : us < 1e6 ? Three(us / 1e3) + " ms"
                      : Three(us / 1e6) + " s";
}

std::string
HumanTimeOfPs(int64_t ps)
{
    return HumanTime(static_cast<double>(ps) / 1e6);
}

std::string
SecondsText(double s)
{
    if (s >= 120)
    {
        return s >= 7200 ? Format("%.3g h", s / 3600) : Format("%.3g min", s / 60);
    }
    return s >= 1      ? Format("%.3g s", s)
           : s >= 1e-3 ? Format("%.3g ms", s * 1e3)
                       : Format("%.3g us", s * 1e6);
}

std::string
SpanText(double seconds)
{
    constexpr double kMinute = 60;
    constexpr double kHour = 3600;
    constexpr double kDay = 86400;
    constexpr double kYear = 365.25 * kDay;

    const struct
    {
        double from;
        double unit;
        const char* name;
    } units[] = {{2 * kYear, kYear, "years"},
                 {2 * kDay, kDay, "days"},
                 {2 * kHour, kHour, "h"},
                 {2 * kMinute, kMinute, "min"},
                 {1, 1, "s"},
                 {1e-3, 1e-3, "ms"},
                 {0, 1e-6, "us"}};

    if (std::isinf(seconds))
    {
        return "never";
    }
    for (const auto& unit : units)
    {
        const double number = seconds / unit.unit;
        if (seconds >= unit.from)
        {
            const char* const format = number >= 99.95   ? "%.0f %s"
                                       : number >= 9.995 ? "%.1f %s"
                                                         : "%.3g %s";
            return seconds == 0 ? "0 s" : Format(format, number, unit.name);
        }
    }
    return "0 s";
}

std::string
ClockText(double seconds)
{
    const auto s = static_cast<unsigned long long>(seconds + 0.5);
    return s >= 3600 ? Format("%llu:%02llu:%02llu h", s / 3600, s / 60 % 60, s % 60)
           : s >= 60 ? Format("%llu:%02llu min", s / 60, s % 60)
                     : Format("%llu s", s);
}

std::string
HumanBytes(double bytes)
{
    return bytes < 1e3    ? Format("%.0f B", bytes)
           : bytes < 1e6  ? Three(bytes / 1e3) + " kB"
           : bytes < 1e9  ? Three(bytes / 1e6) + " MB"
           : bytes < 1e12 ? Three(bytes / 1e9) + " GB"
                          : Three(bytes / 1e12) + " TB";
}

std::string
SizeText(double bytes)
{
    return bytes >= 1e12  ? Format("%.4g TB", bytes * 1e-12)
           : bytes >= 1e9 ? Format("%.4g GB", bytes * 1e-9)
           : bytes >= 1e6 ? Format("%.4g MB", bytes * 1e-6)
           : bytes >= 1e3 ? Format("%.4g kB", bytes * 1e-3)
                          : Format("%.0f B", bytes);
}

std::string
BinarySize(double bytes)
{
    const char* const units[] = {"B", "KiB", "MiB"};
    for (const char* unit : units)
    {
        if (bytes < 1024)
        {
            return Format(unit == units[0] || bytes >= 100 ? "%.0f " : "%.1f ", bytes) + unit;
        }
        bytes /= 1024;
    }
    return Format("%.1f GiB", bytes);
}

std::string
GibText(double bytes)
{
    return Format("%.1f GiB", bytes / (1ULL << 30));
}

std::string
ExactSize(uint64_t bytes)
{
    constexpr uint64_t kMebi = 1 << 20;
    return bytes % kMebi == 0 ? std::to_string(bytes / kMebi) + "MiB" : std::to_string(bytes) + "B";
}

std::string
HumanRate(double gbps)
{
    return gbps < 1000 ? Three(gbps) + " Gb/s" : Three(gbps / 1000) + " Tb/s";
}

std::string
HumanPerSecond(double perS)
{
    if (perS > 0 && perS < 0.0995)
    {
        return Format("%.3g", perS);
    }
    return perS < 999.5 ? Three(perS) : HumanCount(static_cast<uint64_t>(perS + 0.5));
}

std::string
PerSecondText(double perS)
{
    return Format("%.4g a second", perS);
}

} // namespace scenario
