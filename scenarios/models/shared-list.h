/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_MODELS_SHARED_LIST_H
#define SCENARIOS_MODELS_SHARED_LIST_H

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace training
{

/// A list whose copies share its elements until one of them changes them. The blocks of a model are
/// alike, and so are the copies of a model that a search makes: one list serves all of them.
template <class T>
class SharedList
{
  public:
    SharedList() = default;

    SharedList(std::initializer_list<T> elements)
        : m_elements(std::make_shared<std::vector<T>>(elements))
    {
    }

    typename std::vector<T>::const_iterator begin() const
    {
        return Elements().begin();
    }

    typename std::vector<T>::const_iterator end() const
    {
        return Elements().end();
    }

    std::size_t size() const
    {
        return Elements().size();
    }

    bool empty() const
    {
        return Elements().empty();
    }

    const T& operator[](std::size_t index) const
    {
        return Elements()[index];
    }

    const T& front() const
    {
        return Elements().front();
    }

    const T& back() const
    {
        return Elements().back();
    }

    void push_back(T element)
    {
        Change().push_back(std::move(element));
    }

    /// The elements, for changes: other lists keep theirs.
    std::vector<T>& Change()
    {
        if (!m_elements)
        {
            m_elements = std::make_shared<std::vector<T>>();
        }
        else if (m_elements.use_count() > 1)
        {
            m_elements = std::make_shared<std::vector<T>>(*m_elements);
        }
        return *m_elements;
    }

    /// Whether both have the same elements in memory: then they are equal. Equal ones may be apart.
    bool Shares(const SharedList& other) const
    {
        return m_elements == other.m_elements;
    }

  private:
    const std::vector<T>& Elements() const
    {
        static const std::vector<T> none;
        return m_elements ? *m_elements : none;
    }

    std::shared_ptr<std::vector<T>> m_elements;
};

} // namespace training

#endif // SCENARIOS_MODELS_SHARED_LIST_H
