/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/pending.h"

void pending_add(struct pending_list *list, struct pending *p, void (*on_cancel)(struct pending *p))
{
	p->on_cancel = on_cancel;
	p->next = NULL;
	p->link = NULL;
	if (!list)
		return;
	p->next = list->head;
	if (p->next)
		p->next->link = &p->next;
	p->link = &list->head;
	list->head = p;
}

void pending_remove(struct pending *p)
{
	if (!p->link)
		return;
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	p->next = NULL;
	p->link = NULL;
}

void pending_cancel_all(struct pending_list *list)
{
	while (list->head) {
		struct pending *p = list->head;

		pending_remove(p);
		p->on_cancel(p);
	}
}
