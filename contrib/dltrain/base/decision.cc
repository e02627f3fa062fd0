/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "decision.h"

#include <cstddef>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dltrain
{

namespace
{

/// Numbers with blanks behind them.
class DecisionWriter
{
  public:
    template <class T>
    void Number(const T& value)
    {
        m_text += std::to_string(value) + " ";
    }

    template <class T>
    void Size(const std::vector<T>& all)
    {
        Number(all.size());
    }

    std::string m_text;
};

class DecisionReader
{
  public:
    explicit DecisionReader(const std::string& text)
        : m_text(text),
          m_words(text)
    {
    }

    template <class T>
    void Number(T& value)
    {
        Check(!!(m_words >> value));
    }

    template <class T>
    void Size(std::vector<T>& all)
    {
        std::size_t size = 0;
        Number(size);
        Check(size <= m_text.size()); // each has a digit
        all.resize(size, T{0});
    }

    void Check(bool fine) const
    {
        if (!fine)
        {
            throw std::runtime_error("another process has sent a broken decision: " + m_text);
        }
    }

    bool IsAtEnd()
    {
        return (m_words >> std::ws).eof();
    }

  private:
    const std::string& m_text;
    std::istringstream m_words;
};

// One list of numbers for both directions.

template <class Io>
void
Pass(Io&, WarmupEnded&)
{
}

template <class Io>
void
Pass(Io&, SizeEnded&)
{
}

template <class Io>
void
Pass(Io& io, RoundEnded& d)
{
    io.Number(d.attempt);
    io.Number(d.notice.measure);
    io.Number(d.notice.end);
    io.Number(d.notice.checkpoint);
    io.Size(d.notice.stop);
    for (coll::Rank& rank : d.notice.stop)
    {
        io.Number(rank);
    }
    io.Size(d.notice.wake);
    for (workload::Wake& wake : d.notice.wake)
    {
        io.Number(wake.rank);
        io.Number(wake.word);
    }
}

template <class Io>
void
Pass(Io& io, IterationEnded& d)
{
    io.Number(d.instance);
    io.Number(d.at);
}

template <class Io>
void
Pass(Io& io, TransferEnded& d)
{
    io.Number(d.request);
    io.Number(d.at);
    io.Number(d.orders);
}

template <class Io>
void
Pass(Io& io, CollectiveChosen& d)
{
    io.Number(d.attempt);
    io.Number(d.communicator);
    io.Number(d.kind);
    io.Number(d.round);
    io.Number(d.index);
}

} // namespace

std::string
ToText(const Decision& decision)
{
    DecisionWriter writer;
    writer.Number(decision.what.index());
    writer.Number(decision.job);
    Decision copy = decision; // reading changes what writing does not
    std::visit([&writer](auto& what) { Pass(writer, what); }, copy.what);
    return std::move(writer.m_text);
}

Decision
DecisionOf(const std::string& text)
{
    DecisionReader reader(text);
    Decision decision;
    std::size_t kind = 0;
    reader.Number(kind);
    const decltype(decision.what) kinds[] = {WarmupEnded{},
                                             SizeEnded{},
                                             RoundEnded{},
                                             IterationEnded{},
                                             TransferEnded{},
                                             CollectiveChosen{}};
    reader.Check(kind < std::size(kinds));
    decision.what = kinds[kind];
    reader.Number(decision.job);
    std::visit([&reader](auto& what) { Pass(reader, what); }, decision.what);
    reader.Check(reader.IsAtEnd());
    return decision;
}

} // namespace dltrain
