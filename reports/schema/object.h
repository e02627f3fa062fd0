/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Objects of stats.json: a key is declared once, and what is written, the report's words and the
 * documentation follow from it.
 *
 *     const Object<FaultRecord> FAULT{
 *         {"what: Kind of the fault", &FaultRecord::what},
 *         {"rerouted_us (us): When all switches had new tables", &FaultRecord::rerouted}};
 */
#ifndef REPORTS_SCHEMA_OBJECT_H
#define REPORTS_SCHEMA_OBJECT_H

#include "reports/schema/written.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace reports
{

using Json = nlohmann::ordered_json;

template <typename Record>
class Object;

/// A value as JSON, by its type: int64_t is a time in ps, written as us, null if below 0;
/// std::optional without a value is null; a vector is an array.
struct AsJson
{
    template <typename T>
    static Json Of(const T& value)
    {
        return value;
    }

    static Json Of(int64_t ps)
    {
        return ps < 0 ? Json() : Json(static_cast<double>(ps) / 1e6);
    }

    template <typename T>
    static Json Of(const std::optional<T>& value)
    {
        return value ? Of(*value) : Json();
    }

    template <typename T>
    static Json Of(const std::vector<T>& values)
    {
        Json list = Json::array();
        for (const T& value : values)
        {
            list.push_back(Of(value));
        }
        return list;
    }

    template <typename T, typename Part>
    static Json Of(const T& value, const Object<Part>& object)
    {
        return object.ToJson(value);
    }

    template <typename T, typename Part>
    static Json Of(const std::optional<T>& value, const Object<Part>& object)
    {
        return value ? Of(*value, object) : Json();
    }

    template <typename T, typename Part>
    static Json Of(const std::vector<T>& values, const Object<Part>& object)
    {
        Json list = Json::array();
        for (const T& value : values)
        {
            list.push_back(Of(value, object));
        }
        return list;
    }
};

/// Keys of an object whose members depend on the run.
class KeyNames : public Shape
{
  public:
    explicit KeyNames(const std::vector<Words>& words)
        : Shape("")
    {
        for (const Words& one : words)
        {
            m_members.push_back({one});
        }
    }
};

/// The keys of several objects that are written into one.
class JoinedKeys : public Shape
{
  public:
    explicit JoinedKeys(const std::vector<const Shape*>& parts)
        : Shape("")
    {
        for (const Shape* part : parts)
        {
            m_members.insert(m_members.end(), part->Members().begin(), part->Members().end());
        }
    }
};

/// A key of an object that is made of `Record`.
template <typename Record>
class Key
{
  public:
    /// \param value member of Record, or a function of it
    template <typename Value>
    Key(Words words, Value value)
        : m_words{std::move(words)}
    {
        m_value = [value](const Record& record) { return AsJson::Of(std::invoke(value, record)); };
    }

    /// The value is an object, or an array of such. \param part kept by reference
    template <typename Value, typename Part>
    Key(Words words, Value value, const Object<Part>& part)
        : m_words{std::move(words)}
    {
        using Result = std::decay_t<std::invoke_result_t<Value, const Record&>>;
        m_words.inside = &part;
        m_words.isList = IsVector<Result>::value;
        m_value = [value, &part](const Record& record) {
            return AsJson::Of(std::invoke(value, record), part);
        };
    }

    /// The value is JSON already, with keys that depend on the run. \param inside words of these
    template <typename Value>
    Key(Words words, Value value, const Shape& inside)
        : Key(std::move(words), value)
    {
        m_words.inside = &inside;
    }

    /// The value is an array of such objects.
    Key List() &&
    {
        m_words.isList = true;
        return std::move(*this);
    }

    /// Absent where this is false: a member of Record, or a function of it.
    template <typename Value>
    Key Only(Value value) &&
    {
        m_only = [value](const Record& record) {
            return static_cast<bool>(std::invoke(value, record));
        };
        return std::move(*this);
    }

    /// Null where this is false.
    template <typename Value>
    Key NullUnless(Value value) &&
    {
        m_value = [value, of = std::move(m_value)](const Record& record) {
            return std::invoke(value, record) ? of(record) : Json();
        };
        return std::move(*this);
    }

  private:
    template <typename>
    friend class Object;

    template <typename T>
    struct IsVector : std::false_type
    {
    };

    template <typename T>
    struct IsVector<std::vector<T>> : std::true_type
    {
    };

    Shape::Member m_words;
    std::function<Json(const Record&)> m_value;
    std::function<bool(const Record&)> m_only; ///< null: always
};

template <typename Record>
class Object : public Shape
{
  public:
    Object(std::initializer_list<Key<Record>> keys)
        : Object("", keys)
    {
    }

    /// \param name for people, of one that is used in several places
    Object(std::string name, std::vector<Key<Record>> keys)
        : Shape(std::move(name)),
          m_keys(std::move(keys))
    {
        for (const Key<Record>& key : m_keys)
        {
            m_members.push_back(key.m_words);
        }
    }

    /// Adds the keys, in their order.
    void AddTo(Json& json, const Record& record) const
    {
        for (const Key<Record>& key : m_keys)
        {
            if (!key.m_only || key.m_only(record))
            {
                json[key.m_words.name] = key.m_value(record);
            }
        }
    }

    Json ToJson(const Record& record) const
    {
        Json json = Json::object();
        AddTo(json, record);
        return json;
    }

  private:
    std::vector<Key<Record>> m_keys;
};

} // namespace reports

#endif // REPORTS_SCHEMA_OBJECT_H
