/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/parameter.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace topo
{

namespace
{

std::string
NumberText(double v)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g", v);
    return text;
}

/// An end of a range: in full, if it is a whole number.
std::string
LimitText(double v)
{
    return v < 1e15 && v == static_cast<double>(static_cast<uint64_t>(v))
               ? std::to_string(static_cast<uint64_t>(v))
               : NumberText(v);
}

Parameter
Make(std::string name, ParameterKind kind, std::string help)
{
    Parameter p;
    p.name = std::move(name);
    p.kind = kind;
    p.help = std::move(help);
    return p;
}

} // namespace

Parameter&
Parameter::Range(double low, double high)
{
    min = low;
    max = high;
    return *this;
}

Parameter&
Parameter::Standard(std::string text)
{
    standard = std::move(text);
    return *this;
}

Parameter&
Parameter::Chosen(std::string how)
{
    chosen = std::move(how);
    return *this;
}

Parameter&
Parameter::Usual(std::string text)
{
    usual = std::move(text);
    return *this;
}

Parameter&
Parameter::Example(std::string text)
{
    example = std::move(text);
    return *this;
}

Parameter&
Parameter::Recorded()
{
    recorded = true;
    return *this;
}

Parameter&
Parameter::Always()
{
    always = true;
    return *this;
}

Parameter&
Parameter::OfSharing()
{
    ofSharing = true;
    return *this;
}

Parameter
CountParameter(std::string name, std::string help)
{
    return Make(std::move(name), ParameterKind::kCount, std::move(help)).Range(1, 65535);
}

Parameter
FactorParameter(std::string name, std::string help)
{
    return Make(std::move(name), ParameterKind::kFactor, std::move(help));
}

Parameter
FlagParameter(std::string name, std::string help)
{
    return Make(std::move(name), ParameterKind::kFlag, std::move(help));
}

Parameter
SizesParameter(std::string name, std::string help)
{
    return Make(std::move(name), ParameterKind::kSizes, std::move(help)).Range(2, 65535);
}

Parameter
TextParameter(std::string name, std::string help)
{
    return Make(std::move(name), ParameterKind::kText, std::move(help));
}

const char* const kSizesHelp =
    "1 to 6 sizes from 2 to 65535 with an x between them, such as 4x4x2, or 6 for a ring";

const char* const kSizesFromOneHelp =
    "1 to 6 numbers from 1 to 65535 with an x between them, such as 4x4x2";

std::optional<std::vector<uint32_t>>
ParseSizes(const std::string& text, uint32_t least)
{
    std::vector<uint32_t> sizes;
    uint32_t size = 0;
    size_t digits = 0;
    for (size_t i = 0; i <= text.size(); ++i)
    {
        const char c = i == text.size() ? 'x' : text[i];
        if (c >= '0' && c <= '9' && digits < 5)
        {
            size = size * 10 + static_cast<uint32_t>(c - '0');
            ++digits;
        }
        else if ((c == 'x' || c == 'X') && digits > 0 && size >= least && size <= 65535 &&
                 sizes.size() < kMostDimensions)
        {
            sizes.push_back(size);
            size = 0;
            digits = 0;
        }
        else
        {
            return std::nullopt;
        }
    }
    return sizes;
}

std::string
SizesText(const std::vector<uint32_t>& sizes)
{
    std::string text;
    for (const uint32_t size : sizes)
    {
        text += (text.empty() ? "" : "x") + std::to_string(size);
    }
    return text;
}

std::string
ValueText(const ParameterValue& value)
{
    if (const auto* count = std::get_if<uint64_t>(&value))
    {
        return std::to_string(*count);
    }
    if (const auto* factor = std::get_if<double>(&value))
    {
        return NumberText(*factor);
    }
    if (const auto* flag = std::get_if<bool>(&value))
    {
        return *flag ? "1" : "0";
    }
    if (const auto* text = std::get_if<std::string>(&value))
    {
        return *text;
    }
    return SizesText(std::get<std::vector<uint32_t>>(value));
}

std::optional<ParameterValue>
ParseParameter(const Parameter& parameter, const std::string& text, std::string* allowed)
{
    const char* const end = text.c_str() + text.size();
    switch (parameter.kind)
    {
    case ParameterKind::kCount: {
        uint64_t count = 0;
        const auto [p, bad] = std::from_chars(text.c_str(), end, count);
        if (bad == std::errc() && p == end)
        {
            return count;
        }
        *allowed = "a whole number";
        return std::nullopt;
    }
    case ParameterKind::kFactor: {
        char* stop = nullptr;
        const double factor = std::strtod(text.c_str(), &stop);
        if (!text.empty() && stop == end)
        {
            return factor;
        }
        *allowed = "a number";
        return std::nullopt;
    }
    case ParameterKind::kFlag:
        if (text == "0" || text == "1")
        {
            return text == "1";
        }
        *allowed = "0 or 1";
        return std::nullopt;
    case ParameterKind::kSizes:
        if (auto sizes = ParseSizes(text, static_cast<uint32_t>(parameter.min)))
        {
            return std::move(*sizes);
        }
        *allowed = parameter.min < 2 ? kSizesFromOneHelp : kSizesHelp;
        return std::nullopt;
    case ParameterKind::kText:
        return text;
    }
    return std::nullopt;
}

std::string
WhyNotValue(const Parameter& parameter, const ParameterValue& value)
{
    const auto* count = std::get_if<uint64_t>(&value);
    const auto* factor = std::get_if<double>(&value);
    if (!count && !factor)
    {
        return "";
    }
    const double number = count ? static_cast<double>(*count) : *factor;
    if (number >= parameter.min && number <= parameter.max)
    {
        return "";
    }
    return "is not a number from " + LimitText(parameter.min) + " to " + LimitText(parameter.max);
}

// ---------------------------------------------------------------------------------------------

Parameters&
Parameters::Set(const std::string& name, ParameterValue value)
{
    m_values[name] = std::move(value);
    return *this;
}

Parameters&
Parameters::SetCount(const std::string& name, uint64_t value)
{
    return Set(name, value);
}

Parameters&
Parameters::SetFactor(const std::string& name, double value)
{
    return Set(name, value);
}

Parameters&
Parameters::SetFlag(const std::string& name, bool value)
{
    return Set(name, value);
}

Parameters&
Parameters::SetSizes(const std::string& name, std::vector<uint32_t> value)
{
    return Set(name, std::move(value));
}

Parameters&
Parameters::SetText(const std::string& name, std::string value)
{
    return Set(name, ParameterValue(std::move(value)));
}

bool
Parameters::Has(const std::string& name) const
{
    return m_values.count(name) > 0;
}

template <class T>
const T*
Parameters::Find(const std::string& name) const
{
    const auto it = m_values.find(name);
    if (it == m_values.end())
    {
        return nullptr;
    }
    const T* value = std::get_if<T>(&it->second);
    if (!value)
    {
        throw std::invalid_argument("the parameter " + name + " is of another kind");
    }
    return value;
}

uint64_t
Parameters::Count(const std::string& name) const
{
    const auto* value = Find<uint64_t>(name);
    return value ? *value : 0;
}

double
Parameters::Factor(const std::string& name) const
{
    const auto* value = Find<double>(name);
    if (!value)
    {
        throw std::invalid_argument("the parameter " + name + " has no value");
    }
    return *value;
}

bool
Parameters::Flag(const std::string& name) const
{
    const auto* value = Find<bool>(name);
    if (!value)
    {
        throw std::invalid_argument("the parameter " + name + " has no value");
    }
    return *value;
}

std::vector<uint32_t>
Parameters::Sizes(const std::string& name) const
{
    const auto* value = Find<std::vector<uint32_t>>(name);
    return value ? *value : std::vector<uint32_t>{};
}

std::string
Parameters::Text(const std::string& name) const
{
    const auto* value = Find<std::string>(name);
    return value ? *value : std::string();
}

const std::map<std::string, ParameterValue>&
Parameters::All() const
{
    return m_values;
}

} // namespace topo
