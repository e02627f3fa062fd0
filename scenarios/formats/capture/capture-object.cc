/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture/capture-object.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/input-file.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

namespace formats
{

using nlohmann::json;

CaptureObject::CaptureObject(const json& object,
                             std::string file,
                             std::string where,
                             std::vector<topo::Error>& errors)
    : m_object(object),
      m_file(std::move(file)),
      m_where(std::move(where)),
      m_errors(errors)
{
}

bool
CaptureObject::Fail(const std::string& problem)
{
    if (m_fine)
    {
        AddError(m_errors, m_file, m_where, problem);
    }
    m_fine = false;
    return false;
}

bool
CaptureObject::Needs(std::initializer_list<const char*> keys)
{
    for (const char* key : keys)
    {
        if (!Has(key))
        {
            return Fail(std::string(key) + " is missing");
        }
    }
    return m_fine;
}

std::string
CaptureObject::OneOf(const char* key, const std::vector<std::string>& allowed)
{
    const std::string text = Text(key);
    if (Has(key) && m_fine && std::find(allowed.begin(), allowed.end(), text) == allowed.end())
    {
        Fail(std::string(key) + " is " + topo::Quoted(text) +
             "; allowed: " + topo::JoinNames(allowed));
    }
    return text;
}

std::string
CaptureObject::Dtype()
{
    static const std::vector<std::string> kDtypes = {"f64",
                                                     "f32",
                                                     "tf32",
                                                     "f16",
                                                     "bf16",
                                                     "f8",
                                                     "i64",
                                                     "i32",
                                                     "i16",
                                                     "i8",
                                                     "u8",
                                                     "bool",
                                                     "ComplexHalf",
                                                     "ComplexFloat",
                                                     "ComplexDouble"};
    return OneOf("dtype", kDtypes);
}

uint64_t
CaptureObject::Whole(const char* key, uint64_t most, uint64_t otherwise)
{
    if (!Has(key))
    {
        return otherwise;
    }
    const json& value = m_object.at(key);
    // Some counts are computed, and written as reals.
    const double real = value.is_number() ? value.get<double>() : -1;
    if (!(real >= 0 && real <= static_cast<double>(most)) || real != std::floor(real))
    {
        Fail(std::string(key) + " is no whole number; allowed: 0 to " + std::to_string(most));
        return otherwise;
    }
    return value.is_number_unsigned() ? value.get<uint64_t>() : static_cast<uint64_t>(real);
}

double
CaptureObject::Real(const char* key, double most, double otherwise)
{
    if (!Has(key))
    {
        return otherwise;
    }
    const json& value = m_object.at(key);
    const double real = value.is_number() ? value.get<double>() : -1;
    if (!(real >= 0 && real <= most))
    {
        std::ostringstream limit; // which may be above what whole numbers have
        limit << std::setprecision(15) << most;
        Fail(std::string(key) + " is no number that is allowed: 0 to " + limit.str());
        return otherwise;
    }
    return real;
}

std::string
CaptureObject::Text(const char* key)
{
    if (!Has(key))
    {
        return {};
    }
    if (!m_object.at(key).is_string())
    {
        Fail(std::string(key) + " is no text");
        return {};
    }
    auto text = m_object.at(key).get<std::string>();
    if (!rdma::IsPlain(text))
    {
        Fail(std::string(key) + " is not " + rdma::kPlainHelp);
        return {};
    }
    return text;
}

bool
CaptureObject::Flag(const char* key)
{
    if (Has(key) && !m_object.at(key).is_boolean())
    {
        Fail(std::string(key) + " is neither true nor false");
        return false;
    }
    return Has(key) && m_object.at(key).get<bool>();
}

std::vector<uint64_t>
CaptureObject::Wholes(const char* key, uint64_t most)
{
    std::vector<uint64_t> list;
    if (!Has(key))
    {
        return list;
    }
    const json& value = m_object.at(key);
    if (!value.is_array())
    {
        Fail(std::string(key) + " is no list");
        return list;
    }
    for (const json& one : value)
    {
        if (!one.is_number_unsigned() || one.get<uint64_t>() > most)
        {
            Fail(std::string(key) + " has what is no whole number; allowed: 0 to " +
                 std::to_string(most));
            return {};
        }
        list.push_back(one.get<uint64_t>());
    }
    return list;
}

} // namespace formats
