/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/date-time.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace formats
{

namespace
{

constexpr WidePs kSecond = 1'000'000'000'000;

bool
IsDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// Reads a text from its front.
class Cursor
{
  public:
    explicit Cursor(std::string_view text)
        : m_text(text)
    {
    }

    bool AtEnd() const
    {
        return m_at == m_text.size();
    }

    bool Take(char c)
    {
        const bool is = !AtEnd() && m_text[m_at] == c;
        m_at += is ? 1 : 0;
        return is;
    }

    /// All digits that are there.
    std::string Digits()
    {
        const std::size_t from = m_at;
        while (!AtEnd() && IsDigit(m_text[m_at]))
        {
            ++m_at;
        }
        return std::string(m_text.substr(from, m_at - from));
    }

    /// A number of so many digits.
    bool Number(std::size_t digits, int least, int most, int* number)
    {
        const std::string text = Digits();
        if (text.size() != digits)
        {
            return false;
        }
        *number = std::stoi(text);
        return *number >= least && *number <= most;
    }

  private:
    std::string_view m_text;
    std::size_t m_at = 0;
};

/// \return the number that digits make, those after `whole` + `digits` cut
WidePs
Scaled(const std::string& all, int whole, int digits)
{
    WidePs value = 0;
    for (int i = 0; i < whole + digits; ++i)
    {
        const bool there = i < static_cast<int>(all.size());
        value = 10 * value + (there ? all[static_cast<std::size_t>(i)] - '0' : 0);
    }
    return value;
}

/// Days since 1970-01-01 in the Gregorian calendar: those of whole years from March on, whose last
/// day is the one that leap years add.
int64_t
DaysOf(int year, int month, int day)
{
    const int64_t y = month <= 2 ? year - 1 : year;
    const int64_t m = month <= 2 ? month + 9 : month - 3; // 0: March
    constexpr int64_t kUntil1970 = 719468;                // from 0000-03-01
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - kUntil1970;
}

int64_t
DaysIn(int year, int month)
{
    return month == 12 ? 31 : DaysOf(year, month + 1, 1) - DaysOf(year, month, 1);
}

} // namespace

std::optional<WidePs>
ParseDecimalTime(std::string_view text, int digits)
{
    Cursor at(text);
    std::string all = at.Digits();
    int whole = static_cast<int>(std::min<std::size_t>(all.size(), 1000));
    if (at.Take('.'))
    {
        all += at.Digits();
    }
    if (all.empty() || all.size() > 1000)
    {
        return std::nullopt;
    }
    if (at.Take('e') || at.Take('E'))
    {
        const bool negative = at.Take('-');
        if (!negative)
        {
            at.Take('+');
        }
        const std::string exponent = at.Digits();
        if (exponent.empty() || exponent.size() > 3)
        {
            return std::nullopt;
        }
        whole += (negative ? -1 : 1) * std::stoi(exponent);
    }
    if (!at.AtEnd())
    {
        return std::nullopt;
    }
    // Zeros in front have no place in the count of digits.
    const std::size_t zeros = std::min(all.find_first_not_of('0'), all.size());
    if (zeros == all.size())
    {
        return 0;
    }
    all.erase(0, zeros);
    whole -= static_cast<int>(zeros);
    if (whole > kMostTimeDigits)
    {
        return std::nullopt;
    }
    return Scaled(all, whole, digits);
}

std::optional<WidePs>
ParseDateTime(std::string_view text)
{
    Cursor at(text);
    int year = 0;
    int month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    const bool fine = at.Number(4, 1, 9999, &year) && at.Take('-') && at.Number(2, 1, 12, &month) &&
                      at.Take('-') && at.Number(2, 1, 31, &day) && (at.Take(' ') || at.Take('T')) &&
                      at.Number(2, 0, 23, &hour) && at.Take(':') && at.Number(2, 0, 59, &minute) &&
                      at.Take(':') && at.Number(2, 0, 60, &second);
    if (!fine || day > DaysIn(year, month))
    {
        return std::nullopt;
    }
    WidePs fraction = 0;
    if (at.Take('.'))
    {
        const std::string digits = at.Digits();
        if (digits.empty())
        {
            return std::nullopt;
        }
        fraction = Scaled(digits, 0, 12);
    }
    int64_t offset = 0;
    const bool east = at.Take('+');
    if (east || at.Take('-'))
    {
        int hours = 0;
        int minutes = 0;
        if (!at.Number(2, 0, 23, &hours) || !at.Take(':') || !at.Number(2, 0, 59, &minutes))
        {
            return std::nullopt;
        }
        offset = (east ? 60 : -60) * (60 * hours + minutes);
    }
    else
    {
        at.Take('Z');
    }
    if (!at.AtEnd())
    {
        return std::nullopt;
    }
    const int64_t seconds = ((DaysOf(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    return (WidePs{seconds} - offset) * kSecond + fraction;
}

} // namespace formats
