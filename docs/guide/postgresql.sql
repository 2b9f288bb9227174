-- A table to follow, and what postgresql.md needs of it: an outbox and a trigger.
CREATE TABLE articles (id bigint PRIMARY KEY, title text NOT NULL, price numeric, tags text[]);
INSERT INTO articles VALUES (1, 'Red "felt" hat', 19.5, '{hats,wool}'), (2, 'Blue scarf', 12, '{wool}'), (3, 'Green coat', 140, '{}');

-- Before the first load, so that the outbox has every change made meanwhile.
CREATE TABLE search_outbox (seq bigserial PRIMARY KEY, id bigint NOT NULL);
CREATE FUNCTION note_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN INSERT INTO search_outbox (id) VALUES (OLD.id); END IF;
  IF TG_OP <> 'DELETE' THEN INSERT INTO search_outbox (id) VALUES (NEW.id); END IF;
  NOTIFY search_outbox;
  RETURN NULL;
END $$;
CREATE TRIGGER articles_for_search AFTER INSERT OR UPDATE OR DELETE ON articles
  FOR EACH ROW EXECUTE FUNCTION note_for_search();
